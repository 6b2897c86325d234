import type { Platform } from './dynamodb/choose-dynamodb.ts';
import type { Site } from './site/serve-site.ts';

export interface RunOptions {
  /** A cloud assembly: the folder with manifest.json. */
  readonly assembly: string;
  /** The folder in which a run stores its data, such as tables, objects and secrets, and its lock. */
  readonly dataDir: string;
  /** Where threads store the compiled code of functions, for later threads. By default a folder in `dataDir`. */
  readonly compileCacheFolder?: string;
  /** The run's port on 127.0.0.1; 0 takes any free port. */
  readonly port: number;
  /**
   * Origins whose pages may call the run's port, besides the port's own. The default is `*`: every page may.
   * Unless `*` is in the list, the port rejects requests whose host is not 127.0.0.1, localhost or [::1].
   */
  readonly pageOrigins?: readonly string[];
  /** Static files at the run's port, and calls for the pages among them. */
  readonly site?: Site;
  /** Variables for every function of the template. They override those of the template. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Values of secrets, by the logical id of the AWS::SecretsManager::Secret. They take precedence over stored ones. */
  readonly secretValues?: Readonly<Record<string, string>>;
  /**
   * Functions of other stacks, which this one may invoke: by ARN with an alias or a version, the file of the module
   * whose export `handler` runs. They have no role. Of the variables, they have only AWS_LAMBDA_FUNCTION_NAME,
   * AWS_REGION and TZ.
   */
  readonly otherFunctions?: Readonly<Record<string, string>>;
  readonly faults?: Faults;
  /** What differs between machines. The default is this machine. */
  readonly platform?: Platform;
  /** The timers of schedules, instead of Node's. */
  readonly timer?: Timer;
  /**
   * Seconds until SQS redelivers a message that a function failed to process, instead of the queue's visibility
   * timeout.
   */
  readonly redeliverySeconds?: number;
  /** By state name: the length of its wait, or of the wait before each retry, instead of the template's. */
  readonly waitMilliseconds?: Readonly<Record<string, number>>;
  /** Clears the cache of authorizer results when an operator writes to a table, which AWS does not do. */
  readonly clearAuthorizerCacheOnWrite?: boolean;
  /**
   * Records DynamoDB calls with their capacity, functions' calls to other services, invocations and state transitions.
   */
  readonly recordCalls?: boolean;
  /** Lambda's quota of concurrent executions for all Lambda functions of the template together. Default 1,000. */
  readonly accountConcurrency?: number;
  /** The maximum number of threads of one Lambda function. Default 128. */
  readonly maxConcurrency?: number;
  /**
   * How many environments of a web function one thread replaces, by the beginning of the logical id of the function's
   * revision. Default 1. The thread takes as many concurrent requests as all these environments together, and may use
   * as much memory, but its heap is limited as that of one.
   */
  readonly environmentsPerThread?: Readonly<Record<string, number>>;
  /**
   * Loads functions in the background after the start: authorizers, the web functions of the gateway's routes, and then
   * the functions whose logical ids begin with these prefixes.
   */
  readonly prewarm?: readonly string[];
  /**
   * Awaited after the data folder is locked, and before the run reads the folder and the assembly. It may write the
   * assembly, and delete everything in the folder except `lockFiles`.
   */
  readonly prepare?: () => Promise<void>;
  /** Awaited when every emulator has started and the gateway's URL is known, before the gateway serves a request. */
  readonly beforeServing?: (run: StartedEmulators) => Promise<void>;
  readonly onProgress?: (line: string) => void;
  /** Called for a call that the template's policies do not allow. The message names caller, action and reason. */
  readonly onDenied?: (message: string) => void;
  /**
   * Called with a line that a function has written to stdout or stderr, or a line of the runner about a failure of the
   * function, its schedule or its event source.
   */
  readonly onLog?: (entry: { functionName: string; line: string }) => void;
}

export interface StartedEmulators {
  /**
   * The stage's URL, through the distribution if there is one, without a slash at its end. If the template has no REST
   * API: the distribution's URL, or empty.
   */
  readonly url: string;
  /**
   * URLs of the emulators, and of the gateway's stage without the distribution. Empty for services that did not start.
   */
  readonly endpoints: Record<EmulatorName | 'gateway', string>;
  readonly outputs: Record<string, string>;
}

export type EmulatorName = 'dynamodb' | 's3' | 'secretsmanager' | 'sqs' | 'sfn' | 'kms' | 'lambda';

export interface Faults extends DynamoFaults {
  /** Delivers each batch of a queue to its function twice, concurrently or one after the other. */
  readonly duplicateMessages?: boolean;
  /**
   * Called for each request that the gateway sends to a web function. Unless it returns undefined, the gateway sends
   * the request twice, and the client gets the second response. With `meanwhile`, the gateway sends both at once; with
   * `afterwards`, it sends the second one when the first response has ended.
   */
  readonly repeatedRequest?: () => 'meanwhile' | 'afterwards' | undefined;
}

/**
 * How many milliseconds a call waits before it is sent to the emulator. With `transactionConflicts`, a write
 * transaction already locks its items during this wait.
 */
export interface DynamoLatency {
  readonly read: number;
  readonly write: number;
  readonly transaction: number;
}

/** Rejections and latencies of AWS's tables that the emulator on one machine does not have. */
export interface DynamoFaults {
  /** Rejects writes to the items of a write transaction in progress. */
  readonly transactionConflicts?: boolean;
  /** Limits each partition key to 1,000 write units and 3,000 read units a second. */
  readonly throttling?: boolean;
  readonly latency?: DynamoLatency;
  /** If it returns true, the call fails with a retryable InternalServerError. */
  readonly reject?: (
    call: Pick<DynamoCall, 'target' | 'functionName'> & { readonly body: unknown },
  ) => boolean;
}

/** The timers of schedules. */
export interface Timer {
  /** Calls `callback` once after this time. Returns a function that cancels the call. */
  after(milliseconds: number, callback: () => void): () => void;
}

export const systemTimer: Timer = {
  after(milliseconds, callback) {
    const timeout = setTimeout(callback, milliseconds);
    return () => clearTimeout(timeout);
  },
};

/** A function's call to a service, or something else that AWS bills: an invocation or a state transition. */
export interface RecordedCall {
  /**
   * The service's name in `StartedEmulators.endpoints`. Invocations have `lambda`, and state transitions have `sfn`.
   */
  readonly service: string;
  /** Such as `SendMessageBatch`, `invocation` or `transition`; for S3 method and resource: `PUT object?tagging`. */
  readonly operation: string;
  /**
   * The function that called or was invoked, or the state that was entered. Undefined if the request names no function,
   * as that of a presigned URL.
   */
  readonly name: string | undefined;
  readonly status: number;
  /** Sizes of the request's and the response's body; 0 for invocations and transitions. */
  readonly bytes: { readonly sent: number; readonly received: number };
  readonly milliseconds: number;
}

/** One recorded call to DynamoDB. */
export interface DynamoCall {
  /** The operation, such as `PutItem`. */
  readonly target: string;
  /** The table, or several tables in the order of their names, separated by commas. */
  readonly tableName: string;
  readonly functionName: string | undefined;
  readonly status: number;
  readonly consumed: { readonly readUnits: number; readonly writeUnits: number };
  /** Epoch milliseconds when the call arrived. */
  readonly at: number;
}

/** Gives tables latencies like those of AWS, conflicts with write transactions, and the limits of partitions. */
export const awsTime = {
  transactionConflicts: true,
  throttling: true,
  latency: { read: 5, write: 8, transaction: 20 },
} satisfies DynamoFaults;
