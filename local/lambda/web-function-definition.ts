import type { EmulatorRoute } from '../dynamodb/emulator-route/emulator-route.ts';

export interface WebFunctionDefinition {
  readonly logicalId: string;
  readonly functionName: string;
  readonly domainName: string;
  /** The module that starts the server. */
  readonly entry: string;
  readonly compileCacheFolder: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly timeoutSeconds: number;
  readonly limits: WebFunctionLimits;
  /** Whether `onLine` does anything. */
  readonly hasLogListener: boolean;
  readonly emulatorRoute: EmulatorRoute | undefined;
  readonly memoryMegabytes: number;
  onLine(line: string): void;
  /** Called for what would fail in AWS. */
  onViolation(text: string): void;
}

export interface WebFunctionLimits {
  /** Undefined if the endpoint has no limit. */
  readonly requestsPerSecond: number | undefined;
  readonly maxEnvironments: number;
  /** Concurrent requests of one environment. Requests beyond those of all environments are rejected, not queued. */
  readonly requestsPerEnvironment: number;
}
