import { type Batch, type BatchItem, requestsPerGroup } from './batch.ts';
import type { ClaimedRequest } from './claim-requests.ts';
import {
  chatLease,
  failed,
  type RequestAttempt,
  type RequestResult,
  type RespondServices,
  rejected,
  respondToRequest,
} from './respond-to-request.ts';

/** How an attempt ended. */
export interface Attempt extends Pick<RequestAttempt, 'item' | 'calls'> {
  /**
   * `success` and `failed`: the result is stored; `lost`: the request belongs to another worker; `broken`, `busy`: because
   * of the model; `blocked`: the chat is in use, or the service met an error. After `broken`, the item has one broken reply
   * more than the stored one.
   */
  outcome: 'success' | 'failed' | 'lost' | 'broken' | 'busy' | 'blocked';
  retryAfter?: number | undefined;
}

/** A request fails that has lost so many workers, or has as often met an error of the service. */
const mostAttempts = 10;

const unprocessed = 'The request could not be processed';

/** Responds to a claimed request, and stores its result. */
export async function attemptRequest(
  services: RespondServices,
  batch: Batch,
  { prepared, ...claimed }: ClaimedRequest,
  control: Pick<RequestAttempt, 'stop' | 'isOwner'>,
): Promise<Attempt> {
  // After a long time in the buffer, the lease of the chat ends too early, and is acquired once more.
  const isLeased =
    (claimed.newChat?.lease?.until ?? 0) >= services.clock.now().getTime() + chatLease(services);
  const newChat = isLeased ? claimed.newChat : null;
  const attempt: RequestAttempt = { ...claimed, ...control, batch, newChat, calls: [] };
  try {
    if ('invalid' in prepared) return await finish(services, attempt, rejected(prepared.invalid).result);
    if (attempt.item.lostAttempts >= mostAttempts)
      return await finish(services, attempt, failed(unprocessed).result);
    const end = await respondToRequest(services, attempt, prepared);
    if ('result' in end) return await finish(services, attempt, end.result);
    const { item, calls } = attempt;
    const brokenReplies = item.brokenReplies + (end.outcome === 'broken' ? 1 : 0);
    return { ...end, calls, item: { ...item, brokenReplies } };
  } catch (error) {
    const { item, calls } = attempt;
    const fields = { batchId: batch.id, request: item.requestIndex, error };
    services.log.error('A request of a batch was not handled', fields);
    if (item.attempt < mostAttempts) return { outcome: 'blocked', item, calls };
    return finish(services, attempt, failed(unprocessed).result);
  }
}

/** Stores the result. */
async function finish(
  { batches, clock }: RespondServices,
  { batch, item, calls }: RequestAttempt,
  result: RequestResult,
): Promise<Attempt> {
  const outcome = result.error === null ? 'success' : 'failed';
  const ended: BatchItem = { ...item, ...result, status: outcome, processedAt: clock.now().toISOString() };
  const isStored = await batches.replaceItem(batch, item, ended);
  return { outcome: isStored ? outcome : 'lost', item: ended, calls };
}

/** Milliseconds until the next attempt, doubled with each one: after a failure of the model, and if the chat is in use. */
const firstWaits = { ofModel: 10_000, blocked: 2500 };
const longestWait = 300_000;
/** Of a message, and so of a request. */
const longestDelay = 900_000;
/** A new request waits in its place for 5 s, and then for 10 s: meanwhile the batch calls a busy model less. */
export const waitsAtOnce = [5000, 10_000];

/** Milliseconds until the next attempt, plus or minus a quarter, so that requests that failed together are apart. */
export function waitOf({ outcome, item, retryAfter = 0 }: Attempt, shortWait: number | undefined): number {
  const first = outcome === 'blocked' ? firstWaits.blocked : firstWaits.ofModel;
  const wait = shortWait ?? Math.min(first * 2 ** item.attempt, longestWait);
  const spread = 0.75 + (Math.floor(item.requestIndex / requestsPerGroup) % 10) / 20;
  return Math.min(Math.max(retryAfter, wait * spread), longestDelay);
}
