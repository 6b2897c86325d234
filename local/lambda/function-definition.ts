import type { EmulatorRoute } from '../dynamodb/emulator-route.ts';
import type { LoadGauge } from './load-gauge.ts';

/** A function of the template with everything resolved. */
export interface FunctionDefinition {
  readonly logicalId: string;
  readonly functionName: string;
  readonly functionArn: string;
  /** Its versions and aliases. */
  readonly qualifiers: readonly string[];
  /** Of the session of its role. */
  readonly accessKeyId: string;
  readonly taskRoot: string;
  readonly handler: string;
  readonly timeoutSeconds: number;
  readonly memoryMegabytes: number;
  /** Where threads keep compiled code for the next ones. */
  readonly compileCacheFolder: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Whether somebody reads what it writes to stdout. */
  readonly hasLogListener: boolean;
  /** Undefined when every call to DynamoDB is to pass the wire. */
  readonly emulatorRoute: EmulatorRoute | undefined;
}

/** What a thread reports besides the results of its invocations, and to whom. */
export interface ThreadEvents {
  onLine(line: string): void;
  onViolation(text: string): void;
  onGone(): void;
  /** Is to know of the thread as long as it is there. */
  readonly gauge: LoadGauge;
}
