import type { EmulatorRoute } from '../dynamodb/emulator-route/emulator-route.ts';
import type { InvokableFunction } from './invokable-function.ts';

export interface ThreadDefinition {
  readonly logicalId: string;
  readonly functionName: string;
  readonly timeoutSeconds: number;
  readonly memoryMegabytes: number;
  readonly compileCacheFolder: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly hasLogListener: boolean;
  /** If undefined, no call to DynamoDB bypasses the wire. */
  readonly emulatorRoute: EmulatorRoute | undefined;
}

export interface FunctionDefinition
  extends ThreadDefinition,
    Omit<InvokableFunction, 'invoke' | 'endIdleThreads'> {
  readonly taskRoot: string;
  readonly handler: string;
}

export interface ThreadEvents {
  onLine(line: string): void;
  onViolation(text: string): void;
}
