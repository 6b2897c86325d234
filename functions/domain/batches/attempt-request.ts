import type { CountedCall } from '#domain/platform/model-usage.ts';
import { type Batch, type BatchItem, requestsPerGroup } from './batch.ts';
import type { ClaimedRequest } from './claim-requests.ts';
import {
  type AttemptEnd,
  chatLease,
  failed,
  type RequestAttempt,
  type RequestResult,
  type RespondServices,
  rejected,
  respondToRequest,
} from './respond-to-request.ts';
import type { Services } from './services.ts';

export type AttemptServices = RespondServices & Services<'batches'>;

/** How an attempt ended. */
export interface Attempt {
  /**
   * `success` and `failed`: the result is stored; `lost`: the request belongs to another worker; `broken`, `busy`: because
   * of the model; `blocked`: the chat is in use, or the service met an error.
   */
  outcome: 'success' | 'failed' | 'lost' | 'broken' | 'busy' | 'blocked';
  /** As it is stored, with one broken reply more if the reply was broken. */
  item: BatchItem;
  /** The calls of models that this attempt has made. Each attempt counts its own, so a call is counted once. */
  calls: readonly CountedCall[];
  retryAfter: number | undefined;
}

/** A request fails that has lost so many workers, or has as often met an error of the service. */
const mostAttempts = 10;

const unprocessed = 'The request could not be processed';

type Control = Pick<RequestAttempt, 'stop' | 'isOwner'>;

/** Responds to a claimed request, and stores its result. */
export async function attemptRequest(
  services: AttemptServices,
  batch: Batch,
  claimed: ClaimedRequest,
  control: Control,
): Promise<Attempt> {
  const attempt: Omit<Attempt, 'outcome'> = { item: claimed.item, calls: [], retryAfter: undefined };
  try {
    const end = await respond(services, batch, claimed, { attempt, ...control });
    if (end.type === 'ended') return await finish(services, batch, attempt, end.result);
    if (end.type === 'lost') return { ...attempt, outcome: 'lost' };
    if (end.type === 'chat-in-use') return { ...attempt, outcome: 'blocked' };
    const { item } = attempt;
    const brokenReplies = item.brokenReplies + (end.type === 'broken' ? 1 : 0);
    const { type: outcome, retryAfter } = end;
    return { ...attempt, outcome, retryAfter, item: { ...item, brokenReplies } };
  } catch (error) {
    const { requestIndex } = attempt.item;
    const fields = { batchId: batch.id, request: requestIndex, error };
    services.log.error('A request of a batch was not handled', fields);
    if (attempt.item.attempt < mostAttempts) return { ...attempt, outcome: 'blocked' };
    return finish(services, batch, attempt, failed(unprocessed).result);
  }
}

/** @param attempt gets the noted position and the calls of the model */
async function respond(
  services: AttemptServices,
  batch: Batch,
  { request, prepared, newChat, item }: ClaimedRequest,
  { attempt, ...control }: { attempt: Pick<Attempt, 'item' | 'calls'> } & Control,
): Promise<AttemptEnd> {
  if ('invalid' in prepared) return rejected(prepared.invalid);
  if (item.lostAttempts >= mostAttempts) return failed(unprocessed);
  // After a long time in the buffer, the lease of the chat ends too early, and is acquired once more.
  const isLeased = (newChat?.lease?.until ?? 0) >= services.clock.now().getTime() + chatLease(services);
  return respondToRequest(services, {
    ...prepared,
    ...{ batch, request, item, newChat: isLeased ? newChat : null, ...control },
    note(position) {
      attempt.item = { ...attempt.item, ...position };
      return services.batches.replaceItem(batch, attempt.item, attempt.item);
    },
    spend(calls) {
      attempt.calls = calls;
    },
  });
}

/** Stores the result. */
async function finish(
  { batches, clock }: AttemptServices,
  batch: Batch,
  { item, calls }: Pick<Attempt, 'item' | 'calls'>,
  result: RequestResult,
): Promise<Attempt> {
  const outcome = result.error === null ? 'success' : 'failed';
  const ended: BatchItem = { ...item, ...result, status: outcome, processedAt: clock.now().toISOString() };
  const isStored = await batches.replaceItem(batch, item, ended);
  return { outcome: isStored ? outcome : 'lost', item: ended, calls, retryAfter: undefined };
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
