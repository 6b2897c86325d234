export interface WebFunctionDefinition {
  readonly functionName: string;
  readonly domainName: string;
  /** The module that starts the server. */
  readonly entry: string;
  readonly compileCacheFolder: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly timeoutSeconds: number;
  readonly limits: WebFunctionLimits;
  /** Starts the server before the first request. */
  readonly prewarm: boolean;
  onLine(line: string): void;
}

export interface WebFunctionLimits {
  /** Undefined if the endpoint has no limit. */
  readonly requestsPerSecond: number | undefined;
  /** Concurrent requests, over all environments of the endpoint. Further requests are rejected, not queued. */
  readonly concurrency: number;
}
