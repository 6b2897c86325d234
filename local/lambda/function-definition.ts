import type { EmulatorRoute } from '../dynamodb/emulator-route/emulator-route.ts';
import type { InvokableFunction } from './invokable-function.ts';

/** A Lambda function of the template. Its properties have values instead of intrinsic functions such as Ref. */
export interface FunctionDefinition extends Omit<InvokableFunction, 'invoke' | 'endIdleThreads'> {
  readonly taskRoot: string;
  readonly handler: string;
  readonly memoryMegabytes: number;
  /** Where threads store compiled code for later threads. */
  readonly compileCacheFolder: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Whether a listener receives what the function writes to stdout. */
  readonly hasLogListener: boolean;
  /** Undefined if every DynamoDB call must go through the wire. */
  readonly emulatorRoute: EmulatorRoute | undefined;
}

/** Listeners for what a thread reports in addition to the results of its invocations. */
export interface ThreadEvents {
  onLine(line: string): void;
  onViolation(text: string): void;
  onGone(): void;
}
