import type { Platform } from './dynamodb/choose-dynamodb.ts';
import type { Site } from './site/serve-site.ts';

export interface RunOptions {
  /** The folder with manifest.json. */
  readonly assembly: string;
  readonly dataDir: string;
  /** By default a folder in `dataDir`. */
  readonly compileCacheFolder?: string;
  /** On 127.0.0.1; 0 takes any free port. */
  readonly port: number;
  /** Origins whose pages may call the run's port, besides its own. The default is `*`: every page may. */
  readonly pageOrigins?: readonly string[];
  readonly site?: Site;
  /** For every function of the template. They override the variables of the template. */
  readonly environment?: Readonly<Record<string, string>>;
  /** By the logical id of the secret. They take precedence over stored ones. */
  readonly secretValues?: Readonly<Record<string, string>>;
  /** By ARN with alias or version: the JavaScript file whose export `handler` runs. These functions have no role. */
  readonly otherFunctions?: Readonly<Record<string, string>>;
  readonly faults?: Faults;
  readonly platform?: Platform;
  readonly timer?: Timer;
  /** Until SQS redelivers a message that a function failed to process, instead of the visibility timeout. */
  readonly redeliverySeconds?: number;
  /** By state name: the length of its wait, or of the wait before each retry, instead of the template's. */
  readonly waitMilliseconds?: Readonly<Record<string, number>>;
  /** After DynamoDB calls not from a function, except GetItem, BatchGetItem, Query and Scan. AWS does not do this. */
  readonly clearAuthorizerCacheOnWrite?: boolean;
  /** Fills `dynamoCalls` and `calls` of the running template. */
  readonly recordCalls?: boolean;
  /** Lambda's quota for all Lambda functions of the template together. Default 1,000. */
  readonly accountConcurrency?: number;
  /** How many threads one Lambda function may have. Default 128. */
  readonly maxConcurrency?: number;
  /**
   * How many environments of a web function one thread replaces, by the beginning of the logical id of the function's
   * revision. Default 1.
   */
  readonly environmentsPerThread?: Readonly<Record<string, number>>;
  /**
   * Beginnings of the logical ids of Lambda functions that are loaded after the start. Authorizers and the gateway's
   * web functions are loaded even if the list is empty. Without a list, every function is loaded at its first call.
   */
  readonly prewarm?: readonly string[];
  /** Awaited after the data folder is locked, before it and the assembly are read. Must not delete `lockFiles`. */
  readonly prepare?: () => Promise<void>;
  /** Awaited when every emulator has started, before the gateway serves a request. */
  readonly beforeServing?: (run: StartedEmulators) => Promise<void>;
  /** Called for a call that the template's policies do not allow. */
  readonly onDenied?: (message: string) => void;
  /** Lines that functions write to stdout and stderr, and lines of the runner about failures. */
  readonly onLog?: (entry: { functionName: string; line: string }) => void;
}

export interface StartedEmulators {
  /**
   * The stage's URL without a slash at its end, through the distribution if there is one. Without a REST API: the
   * distribution's URL, or empty.
   */
  readonly url: string;
  /** `gateway` is the stage's URL without the distribution. Empty for services that did not start. */
  readonly endpoints: Record<EmulatorName | 'gateway', string>;
  readonly outputs: Record<string, string>;
}

export type EmulatorName = 'dynamodb' | 's3' | 'secretsmanager' | 'sqs' | 'sfn' | 'kms' | 'lambda';

export interface Faults extends DynamoFaults {
  /** Delivers each batch of a queue twice, concurrently or one after the other. */
  readonly duplicateMessages?: boolean;
  /**
   * Called for each request that the gateway sends to a web function. Unless it returns undefined, the gateway sends
   * the request twice, and the client gets the second response.
   */
  readonly repeatedRequest?: () => 'meanwhile' | 'afterwards' | undefined;
}

/** Milliseconds by which a call is delayed. */
export interface DynamoLatency {
  readonly read: number;
  readonly write: number;
  readonly transaction: number;
}

export interface DynamoFaults {
  /** Rejects writes to the items of a write transaction in progress. */
  readonly transactionConflicts?: boolean;
  readonly throttling?: boolean;
  readonly latency?: DynamoLatency;
  /** If it returns true, the call fails with a retryable InternalServerError. */
  readonly reject?: (
    call: Pick<DynamoCall, 'target' | 'functionName'> & { readonly body: unknown },
  ) => boolean;
}

export interface Timer {
  after(milliseconds: number, callback: () => void): () => void;
}

export const systemTimer: Timer = {
  after(milliseconds, callback) {
    const timeout = setTimeout(callback, milliseconds);
    return () => clearTimeout(timeout);
  },
};

export interface RecordedCall {
  /** As in `StartedEmulators.endpoints`. Invocations have `lambda`, and state transitions have `sfn`. */
  readonly service: string;
  /** Such as `SendMessageBatch`; for S3 method and resource, such as `PUT object?tagging`. */
  readonly operation: string;
  /**
   * The function that called or was invoked, or the state that was entered. Undefined if no header of the request names
   * a function, as with a presigned address.
   */
  readonly name: string | undefined;
  readonly status: number;
  readonly bytes: { readonly sent: number; readonly received: number };
  readonly milliseconds: number;
}

export interface DynamoCall {
  /** Such as `PutItem`. */
  readonly target: string;
  /** Several tables are sorted and separated by commas. */
  readonly tableName: string;
  readonly functionName: string | undefined;
  readonly status: number;
  readonly consumed: { readonly readUnits: number; readonly writeUnits: number };
  /** Epoch milliseconds when the call arrived. */
  readonly at: number;
}

export const awsTime = {
  transactionConflicts: true,
  throttling: true,
  latency: { read: 5, write: 8, transaction: 20 },
} satisfies DynamoFaults;
