import type { EmulatorRoute } from '../dynamodb/emulator-route/emulator-route.ts';
import type { InvokableFunction } from './invokable-function.ts';

/**
 * What the definitions of Lambda functions and web functions have in common. It contains no intrinsic functions such as
 * Ref.
 */
export interface ThreadDefinition {
  readonly logicalId: string;
  readonly functionName: string;
  readonly timeoutSeconds: number;
  readonly memoryMegabytes: number;
  /** Where threads store compiled code for later threads. */
  readonly compileCacheFolder: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Whether a listener receives what the function writes to stdout. */
  readonly hasLogListener: boolean;
  /** Undefined if calls to DynamoDB go through the wire. */
  readonly emulatorRoute: EmulatorRoute | undefined;
}

/** A Lambda function of the template or of another stack. */
export interface FunctionDefinition
  extends ThreadDefinition,
    Omit<InvokableFunction, 'invoke' | 'endIdleThreads'> {
  readonly taskRoot: string;
  readonly handler: string;
}

/** Listeners for what a thread reports in addition to the results of its invocations. */
export interface ThreadEvents {
  onLine(line: string): void;
  /** Called for what could fail in AWS. */
  onViolation(text: string): void;
}
