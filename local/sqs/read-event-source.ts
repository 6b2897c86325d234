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
  readonly windowSeconds: number;
  readonly concurrency: number;
  readonly reportsItemFailures: boolean;
}

interface MappingProperties {
  readonly BatchSize?: number;
  readonly Enabled?: boolean;
  readonly EventSourceArn?: string;
  readonly FunctionName?: string;
  readonly FunctionResponseTypes?: readonly string[];
  readonly MaximumBatchingWindowInSeconds?: number;
  readonly ScalingConfig?: { readonly MaximumConcurrency?: number };
}

const SUPPORTED = new Set([
  'BatchSize',
  'Enabled',
  'EventSourceArn',
  'FunctionName',
  'FunctionResponseTypes',
  'MaximumBatchingWindowInSeconds',
  'MetricsConfig',
  'ScalingConfig',
  'Tags',
]);

// Lambda's default for queues. A larger batch size needs a batching window.
const DEFAULT_BATCH_SIZE = 10;

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

  const queueArn = resolved.EventSourceArn ?? '';
  if (!queueArn.startsWith('arn:aws:sqs:')) reject('only queues can be event sources locally');
  if (queueArn.endsWith('.fifo')) reject('FIFO queues cannot be event sources locally');
  const target =
    findFunction(context, resolved.FunctionName ?? '') ??
    reject(`the function ${resolved.FunctionName} is not in the template`);
  const batchSize = resolved.BatchSize ?? DEFAULT_BATCH_SIZE;
  const windowSeconds = resolved.MaximumBatchingWindowInSeconds ?? 0;
  if (batchSize > DEFAULT_BATCH_SIZE && windowSeconds === 0) {
    reject('MaximumBatchingWindowInSeconds must be greater than 0 when BatchSize is greater than 10');
  }
  const limit = resolved.ScalingConfig?.MaximumConcurrency ?? DEFAULT_CONCURRENCY;
  if (limit < 2 || limit > 1000) reject('MaximumConcurrency must be between 2 and 1000');
  return {
    enabled: resolved.Enabled ?? true,
    queueArn,
    target,
    batchSize,
    windowSeconds,
    // More batches than threads would wait in the runner, while their visibility timeout already runs.
    concurrency: Math.min(limit, context.options.maxConcurrency ?? DEFAULT_CONCURRENCY),
    reportsItemFailures: resolved.FunctionResponseTypes?.includes('ReportBatchItemFailures') ?? false,
  };
}
