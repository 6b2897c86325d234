import { renewLeases } from '#domain/chats/renew-leases.ts';
import type { CountedCall } from '#domain/platform/model-usage.ts';
import { countUsage } from '#domain/workspaces/count-usage.ts';
import type { BucketOwner } from '#domain/workspaces/rate-bucket-store.ts';
import type { WorkspaceServices } from '#domain/workspaces/services.ts';
import { limitsOf, type Workspace } from '#domain/workspaces/workspace.ts';
import { type Batch, type BatchItem, type BatchRequest, requestsPerGroup } from './batch.ts';
import type { Prepared } from './check-request.ts';
import type { ClaimedRequest } from './claim-requests.ts';
import {
  type AttemptEnd,
  failed,
  type RespondServices,
  rejected,
  respondToRequest,
} from './respond-to-request.ts';
import type { BatchServices } from './services.ts';

export type EndServices = RespondServices &
  Pick<BatchServices, 'batches'> &
  Pick<WorkspaceServices, 'rateLimits' | 'stageLimits' | 'usage'>;

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
    const end =
      'invalid' in prepared
        ? { ...rejected(prepared.invalid), item: claimed.item }
        : claimed.item.lostAttempts >= maxLostAttempts
          ? { ...failed('The request could not be processed'), item: claimed.item }
          : await attempt(services, batch, claimed, prepared, calls);
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

/** Responds to the request while it renews the lease of its item. */
async function attempt(
  services: EndServices,
  batch: Batch,
  claimed: ClaimedRequest,
  prepared: Prepared,
  calls: CountedCall[],
): Promise<AttemptEnd & { item: BatchItem }> {
  let { item } = claimed;
  const stop = new AbortController();
  const renew = (leaseUntil: number): Promise<boolean> => {
    item = { ...item, leaseUntil };
    return services.batches.renewItemLease(batch, item, leaseUntil);
  };
  const lease = renewLeases(services, renew, stop);
  try {
    const end = await respondToRequest(services)({
      ...{ ...claimed, ...prepared, batch, stop },
      note(position) {
        item = { ...item, ...position };
        return services.batches.assignChat(batch, item);
      },
      spend: (made) => calls.push(...made),
    });
    return { ...end, item };
  } finally {
    lease.stop();
    await lease.finished();
  }
}

async function save(
  services: EndServices,
  batch: Batch,
  request: BatchRequest,
  { item, ...end }: AttemptEnd & { item: BatchItem },
): Promise<Pick<EndedRequest, 'outcome' | 'retry'>> {
  if (end.type === 'lost') return { outcome: 'lease-lost' };
  const now = services.clock.now();
  if (end.type === 'ended') {
    const status = end.result.error === null ? 'success' : 'failed';
    const ended: BatchItem = { ...item, ...end.result, status, processedAt: now.toISOString() };
    return { outcome: (await services.batches.finishItem(batch, ended)) ? status : 'lease-lost' };
  }
  const wait = waitOf(item, end.type === 'chat-in-use' ? undefined : end.retryAfter);
  const due = now.getTime() + wait * 1000;
  const brokenReplies = item.brokenReplies + (end.type === 'broken' ? 1 : 0);
  if (!(await services.batches.scheduleRetry(batch, { ...item, brokenReplies }, due)))
    return { outcome: 'lease-lost' };
  const narrows = item.attempt <= attemptsThatNarrow;
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
