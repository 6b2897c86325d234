import { findFunction } from '../lambda/find-function.ts';
import type { InvokableFunction } from '../lambda/invokable-function.ts';
import type { RunContext } from '../run-context.ts';
import type { TemplateResource } from '../template/resource-kind.ts';

/** An AWS::Lambda::EventSourceMapping without intrinsic functions. */
export interface EventSource {
  readonly enabled: boolean;
  readonly queueArn: string;
  readonly target: InvokableFunction;
  readonly batchSize: number;
  readonly concurrency: number;
  readonly reportsItemFailures: boolean;
}

interface MappingProperties {
  readonly BatchSize?: number;
  readonly Enabled?: boolean;
  readonly EventSourceArn?: string;
  readonly FunctionName?: string;
  readonly FunctionResponseTypes?: readonly string[];
  readonly ScalingConfig?: { readonly MaximumConcurrency?: number };
}

const SUPPORTED = new Set([
  'BatchSize',
  'Enabled',
  'EventSourceArn',
  'FunctionName',
  'FunctionResponseTypes',
  'MetricsConfig',
  'ScalingConfig',
  'Tags',
]);

// Lambda's default for queues, and the maximum without a batching window.
const MAX_BATCH_SIZE = 10;

// An event source without a limit uses at most half of the 128 threads that a function has here.
const DEFAULT_CONCURRENCY = 64;

/** @throws Error if AWS rejects the mapping, or if it cannot run here */
export function readEventSource(
  { logicalId, type, properties }: TemplateResource,
  context: RunContext,
): EventSource {
  const reject = (text: string): never => {
    throw new Error(`${logicalId} (${type}): ${text}`);
  };
  const resolved = context.resolve(properties, logicalId) as MappingProperties;
  const unsupported = Object.keys(resolved).find((name) => !SUPPORTED.has(name));
  if (unsupported) reject(`${unsupported} is not available locally`);
  const { BatchSize: batchSize = MAX_BATCH_SIZE } = resolved;
  if (batchSize > MAX_BATCH_SIZE)
    reject('a BatchSize greater than 10 needs a window, which is not available locally');
  return {
    enabled: resolved.Enabled ?? true,
    queueArn: readQueueArn(resolved, reject),
    target:
      findFunction(context, resolved.FunctionName ?? '') ??
      reject(`the function ${resolved.FunctionName} is not in the template`),
    batchSize,
    concurrency: readConcurrency(resolved, context.options.maxConcurrency, reject),
    reportsItemFailures: resolved.FunctionResponseTypes?.includes('ReportBatchItemFailures') ?? false,
  };
}

type Reject = (text: string) => never;

function readQueueArn({ EventSourceArn: queueArn = '' }: MappingProperties, reject: Reject): string {
  if (!queueArn.startsWith('arn:aws:sqs:')) reject('only queues can be event sources locally');
  if (queueArn.endsWith('.fifo')) reject('FIFO queues cannot be event sources locally');
  return queueArn;
}

function readConcurrency(
  { ScalingConfig }: MappingProperties,
  threads: number | undefined,
  reject: Reject,
): number {
  const limit = ScalingConfig?.MaximumConcurrency ?? DEFAULT_CONCURRENCY;
  if (limit < 2 || limit > 1000) reject('MaximumConcurrency must be between 2 and 1000');
  // More batches than threads would wait in the runner, while their visibility timeout already runs.
  return Math.min(limit, threads ?? DEFAULT_CONCURRENCY);
}
