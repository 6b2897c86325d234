import type { DynamoCall } from './dynamodb/dynamo-call.ts';
import type { Timer } from './schedules/timer.ts';

export interface RunOptions {
  /** A cloud assembly: the folder with manifest.json. */
  readonly assembly: string;
  /** Which stack of the assembly; needed only when it holds several. */
  readonly stack?: string;
  /** Where tables, objects, secrets and the lock live. */
  readonly dataDir: string;
  /** The gateway's port on 127.0.0.1; 0 takes any free one. */
  readonly port: number;
  /** Further variables for every function. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Logical id of an AWS::SecretsManager::Secret to its value. */
  readonly secretValues?: Readonly<Record<string, string>>;
  readonly faults?: Faults;
  /** What schedules are kept by, in place of the system's timers. */
  readonly timer?: Timer;
  /** When messages of a failed batch come again, in place of the queue's visibility time-out. */
  readonly redeliverySeconds?: number;
  /** By name of a state: how long its wait takes, or the wait before each of its retries, in place of what the template says. */
  readonly waitMilliseconds?: Readonly<Record<string, number>>;
  /**
   * What an operator writes to a table holds for the next request already: authorizers are asked anew behind it. AWS keeps
   * their answers for their cache time all the same.
   */
  readonly promptAuthorizers?: boolean;
  /** Keep every DynamoDB call with what it consumed, and what else functions ask of AWS and AWS counts. */
  readonly recordCalls?: boolean;
  /** Lambda's quota of concurrent executions, of all functions together. Default 1,000, as AWS has it. */
  readonly accountConcurrency?: number;
  /** Threads that one function may have. Default 128. */
  readonly maxConcurrency?: number;
  /** Load every function once in the background after the start. */
  readonly prewarm?: boolean;
  /** Awaited when the data folder is this run's own, before anything is read: may make the assembly, or empty the folder. */
  readonly prepare?: () => Promise<void>;
  /** Awaited when every engine is up and the gateway's address is known, before the first request is looked at. */
  readonly beforeServing?: (run: StartedEmulators) => Promise<void>;
  readonly onProgress?: (line: string) => void;
  /** A call that the template's policies do not allow: who wanted what, and why not. */
  readonly onDenied?: (message: string) => void;
  /** A line that a function wrote to stdout or stderr. */
  readonly onLog?: (entry: { functionName: string; line: string }) => void;
}

export interface StartedEmulators {
  /** The stage's address, through the distribution if there is one, without a slash at its end; empty when the template has no REST API. */
  readonly url: string;
  /** Empty where the template has no resource of the service. */
  /** Of the engines, and of the gateway where no distribution stands in front of it. */
  readonly endpoints: Record<EmulatorName | 'gateway', string>;
  readonly outputs: Record<string, string>;
}

export type EmulatorName = 'dynamodb' | 's3' | 'secretsmanager' | 'sqs' | 'sfn' | 'kms' | 'ssm' | 'lambda';

export interface Faults extends DynamoFaults {
  /** Delivers every batch of a queue to its function twice, in turn at the same time and one after the other. */
  readonly duplicateMessages?: boolean;
}

/** How AWS's tables can refuse what a single-machine engine never does. */
export interface DynamoFaults {
  readonly transactionConflicts?: boolean;
  readonly throttling?: boolean;
  /** Answers the call with a retryable InternalServerError. */
  readonly reject?: (
    call: Pick<DynamoCall, 'target' | 'functionName'> & { readonly body: unknown },
  ) => boolean;
}
