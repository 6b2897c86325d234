import type { ChatServices } from '#domain/chats/services.ts';
import type { FileServices } from '#domain/files/services.ts';
import type { CountedCall } from '#domain/platform/model-usage.ts';
import type { PlatformServices } from '#domain/platform/services.ts';
import { countUsage } from '#domain/workspaces/count-usage.ts';
import type { BucketOwner } from '#domain/workspaces/rate-bucket-store.ts';
import type { WorkspaceServices } from '#domain/workspaces/services.ts';
import { limitsOf, type Workspace } from '#domain/workspaces/workspace.ts';
import { type Batch, type BatchItem, type BatchRequest, requestsPerGroup } from './batch.ts';
import type { ClaimedRequest } from './claim-requests.ts';
import { failed, type ItemEnd, processBatchItem, rejected } from './process-batch-item.ts';
import type { BatchServices } from './services.ts';

export type EndServices = Pick<BatchServices, 'batchSettings' | 'batches'> &
  Pick<ChatServices, 'agentRuntime' | 'chats' | 'messages' | 'replyEvents' | 'replySettings'> &
  Pick<FileServices, 'fileIndex'> &
  Pick<WorkspaceServices, 'rateLimits' | 'stageLimits' | 'usage'> &
  Pick<PlatformServices, 'clock' | 'log' | 'meter'>;

/** Seconds between attempts: 5, 10, 20 … up to five minutes, so that a model that recovers is called soon. */
const firstWait = 5;
const longestWait = 300;
/** SQS delays a message for 15 minutes at most. */
const longestDelay = 900;
/**
 * A request that waits for a busy model narrows its worker for three attempts, about half a minute, so the batch does
 * not call the model more often. After that the worker goes on with requests that may use other models.
 */
const attemptsThatNarrow = 3;

/**
 * How many workers a request may lose: as many times as the queue delivers a message (lib/batch-workflow.ts). The
 * queue's own limit is not enough, because the reconciler requeues a request with an expired lease in a new message.
 */
const maxLostAttempts = 10;

/** A request whose retry is scheduled. */
export interface Retry {
  request: BatchRequest;
  /** Milliseconds since the epoch. */
  due: number;
  /** Seconds from the end of the attempt until the retry. */
  wait: number;
  /** Whether the worker processes one request fewer at once until it ends, and keeps its slot for this request. */
  narrows: boolean;
}

export interface EndedRequest {
  request: BatchRequest;
  outcome: 'success' | 'failed' | 'retry' | 'lease-lost' | 'not-handled';
  /** Model calls of this attempt. */
  calls: readonly CountedCall[];
  retry?: Retry;
}

/** Processes a claimed request and stores how its attempt ended. */
export async function endRequest(
  services: EndServices,
  batch: Batch,
  claimed: ClaimedRequest,
): Promise<EndedRequest> {
  const { request, prepared } = claimed;
  const calls: CountedCall[] = [];
  try {
    const end: ItemEnd =
      'invalid' in prepared
        ? rejected(services, claimed.item, prepared.invalid)
        : claimed.item.lostAttempts >= maxLostAttempts
          ? failed(services, claimed.item, 'The request could not be processed')
          : await processBatchItem(services)(batch, claimed, prepared, (made) => calls.push(...made));
    return { request, ...(await save(services, batch, request, end)), calls };
  } catch (error) {
    services.log.error('A request of a batch was not handled', {
      batchId: batch.id,
      position: request.requestIndex,
      error,
    });
    return { request, outcome: 'not-handled', calls };
  }
}

async function save(
  services: EndServices,
  batch: Batch,
  request: BatchRequest,
  end: ItemEnd,
): Promise<Pick<EndedRequest, 'outcome' | 'retry'>> {
  if (end.type === 'lease-lost') return { outcome: 'lease-lost' };
  if (end.type === 'ended') {
    if (!(await services.batches.finishItem(batch, end.item))) return { outcome: 'lease-lost' };
    return { outcome: end.item.status === 'success' ? 'success' : 'failed' };
  }
  const wait = waitOf(end.item, end.retryAfter);
  const due = services.clock.now().getTime() + wait * 1000;
  if (!(await services.batches.scheduleRetry(batch, end.item, due))) return { outcome: 'lease-lost' };
  const narrows = end.item.attempt <= attemptsThatNarrow;
  return { outcome: 'retry', retry: { request, due, wait, narrows } };
}

/**
 * Seconds, plus or minus a quarter by request group, so that groups that failed together are retried at different
 * times.
 */
function waitOf({ attempt, requestIndex }: BatchItem, retryAfter = 0): number {
  const wait = Math.min(firstWait * 2 ** (attempt - 1), longestWait);
  const spread = 0.75 + (Math.floor(requestIndex / requestsPerGroup) % 10) / 20;
  return Math.min(Math.ceil(Math.max(retryAfter / 1000, wait * spread)), longestDelay);
}

export const hasEnded = ({ outcome }: EndedRequest): boolean => outcome === 'success' || outcome === 'failed';

/**
 * Makes one write for each agent, and one if there were more calls of models than the batch has paid, which is one for each
 * request. The requests of a batch nearly always have the same agent.
 */
export async function countRequests(
  services: EndServices,
  { workspaceId, apiKeyId }: Batch,
  workspace: Workspace,
  attempts: readonly EndedRequest[],
): Promise<void> {
  if (attempts.length === 0) return;
  const countOf = (wanted: EndedRequest['outcome']): number =>
    attempts.filter(({ outcome }) => outcome === wanted).length;
  services.meter.requestsProcessed({
    done: countOf('success'),
    failed: countOf('failed'),
    delayed: countOf('retry'),
  });
  const limits = limitsOf(workspace, services.stageLimits);
  const calls = attempts.flatMap((attempt) => attempt.calls).length;
  const unpaid = calls - attempts.filter(hasEnded).length;
  const byAgent = Map.groupBy(attempts, ({ request }) => request.agentId);
  await Promise.all([
    limits !== null && unpaid > 0 && chargeCalls(services, { workspaceId, apiKeyId, limits }, unpaid),
    ...[...byAgent].map(([agentId, requests]) =>
      countUsage(services)({
        ...{ workspaceId, apiKeyId, agentId },
        counts: {
          batchRequests: requests.filter(hasEnded).length,
          failedBatchRequests: requests.filter(({ outcome }) => outcome === 'failed').length,
        },
        calls: requests.flatMap((request) => request.calls),
      }),
    ),
  ]);
}

function chargeCalls({ rateLimits }: EndServices, owner: BucketOwner, modelCalls: number): Promise<void> {
  rateLimits.charge(owner, { modelCalls });
  return rateLimits.writeCharges(owner);
}
