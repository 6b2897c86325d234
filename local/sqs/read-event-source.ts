import { findFunction } from '../lambda/find-function.ts';
import type { RunContext } from '../run-context.ts';
import { reject, rejectOthers, type TemplateResource } from '../template/template-resource.ts';

export type EventSource = ReturnType<typeof readEventSource>;

interface MappingProperties {
  readonly BatchSize?: number;
  readonly Enabled?: boolean;
  readonly EventSourceArn?: string;
  readonly FunctionName?: string;
  readonly FunctionResponseTypes?: readonly string[];
  readonly ScalingConfig?: { readonly MaximumConcurrency?: number };
}

const SUPPORTED = [
  'BatchSize',
  'Enabled',
  'EventSourceArn',
  'FunctionName',
  'FunctionResponseTypes',
  'MetricsConfig',
  'ScalingConfig',
  'Tags',
];

// Lambda's default for queues, and the maximum without a batching window.
const MAX_BATCH_SIZE = 10;

// Half of the threads that a function may have by default (DEFAULT_MAX_CONCURRENCY in local/lambda/functions.ts).
const DEFAULT_CONCURRENCY = 64;

export function readEventSource(resource: TemplateResource, context: RunContext) {
  const properties = context.read<MappingProperties>(resource);
  rejectOthers(resource, properties, SUPPORTED);
  const { BatchSize: batchSize = MAX_BATCH_SIZE, EventSourceArn: queueArn = '' } = properties;
  const {
    Enabled: enabled = true,
    FunctionName = '',
    FunctionResponseTypes = [],
    ScalingConfig,
  } = properties;
  if (!queueArn.startsWith('arn:aws:sqs:')) reject(resource, 'only queues can be event sources locally');
  const limit = ScalingConfig?.MaximumConcurrency ?? DEFAULT_CONCURRENCY;
  if (limit < 2 || limit > 1000) reject(resource, 'MaximumConcurrency must be between 2 and 1000');
  if (batchSize > MAX_BATCH_SIZE)
    reject(resource, 'a BatchSize greater than 10 needs a window, which is not available locally');
  return {
    enabled,
    queueArn,
    target:
      findFunction(context, FunctionName) ??
      reject(resource, `the function ${FunctionName} is not in the template`),
    batchSize,
    // More batches than threads would wait in the runner, while their visibility timeout already runs.
    concurrency: Math.min(limit, context.options.maxConcurrency ?? DEFAULT_CONCURRENCY),
    reportsItemFailures: FunctionResponseTypes.includes('ReportBatchItemFailures'),
  };
}
