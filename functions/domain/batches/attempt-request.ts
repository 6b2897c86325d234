import type { ResponseFormat } from '#contract/response-format.ts';
import type { Workspace } from '#domain/workspaces/workspace.ts';
import {
  type Batch,
  type BatchItem,
  type BatchRequest,
  chatLeaseOf,
  type OwnedSlot,
  requestsPerGroup,
  unclaimedItem,
} from './batch.ts';
import type { Services } from './batch-store.ts';
import { type CheckServices, type Invalid, type Prepared, prepareRequests } from './check-request.ts';
import {
  chatLease,
  failed,
  type RequestAttempt,
  type RequestResult,
  type RespondServices,
  rejected,
  respondToRequest,
} from './respond-to-request.ts';

export type ClaimServices = CheckServices & Services<'batchSettings' | 'batches'>;

/** About how many milliseconds a claimed request may wait in the buffer and still use its chat lease. */
const longestBuffered = 60_000;

export interface ClaimedRequest extends Pick<RequestAttempt, 'request' | 'item' | 'newChat'> {
  prepared: Prepared | Invalid;
}

export interface Claimant {
  batch: Batch;
  workspace: Workspace;
  slot: OwnedSlot;
  format: () => Promise<ResponseFormat | undefined>;
  isOwner: () => Promise<boolean>;
}

export interface Started {
  block: readonly number[];
  named: readonly number[];
}

/**
 * Stores the first items of requests that a take has started, after new checks: agents, files and the whitelist may
 * have changed since the creation.
 * @returns `others`: items that existed already, such as those of a former owner. Both lists are empty if `isOwner`
 *   returns false
 */
export async function claimRequests(
  services: ClaimServices,
  { batch, workspace, slot, format, isOwner }: Claimant,
  { block, named }: Started,
): Promise<{ claimed: ClaimedRequest[]; others: BatchItem[] }> {
  const stored = await services.batches.requests(batch, [...block, ...named]);
  const requests = stored.filter(
    ({ requestIndex, previous }) => previous === null || named.includes(requestIndex),
  );
  const prepared = await prepareRequests(services, workspace, requests, await format());
  const preparedOf = ({ requestIndex }: BatchRequest): Prepared | Invalid =>
    prepared.get(requestIndex) ?? { invalid: 'The request is gone' };
  const claims = requests.map((request) => {
    const { requestIndex, agentId, name, externalUserId } = request;
    const needsChat = request.historyId === null && !('invalid' in preparedOf(request));
    return {
      request,
      newChat: needsChat ? { workspaceId: workspace.id, agentId, name, externalUserId } : null,
      item: {
        ...unclaimedItem(requestIndex),
        ...{ status: 'processing' as const, slot: slot.number, epoch: slot.epoch, attempt: 1 },
        messagePosition: needsChat ? 1 : null,
      },
    };
  });
  // The reads may have taken longer than the lease of the slot.
  if (!(await isOwner())) return { claimed: [], others: [] };
  const until = services.clock.now().getTime() + chatLease(services) + longestBuffered;
  const idOf = (requestIndex: number): string => chatLeaseOf(batch, requestIndex);
  const claimed = await services.batches.claim(batch, claims, { idOf, until });
  const isClaimed = new Set(claimed.map(({ item }) => item.requestIndex));
  const missing = requests.filter(({ requestIndex }) => !isClaimed.has(requestIndex));
  const others = await Promise.all(missing.map((each) => services.batches.item(batch, each.requestIndex)));
  return {
    claimed: claimed.map((each) => ({ ...each, prepared: preparedOf(each.request) })),
    others: others.filter((item) => item !== undefined),
  };
}

/** @returns the current item. It is not the caller's if the request has ended, now waits, or has a later owner. */
export async function takeOver(
  { batches }: Services<'batches'>,
  batch: Batch,
  { number, epoch }: OwnedSlot,
  found: BatchItem,
): Promise<BatchItem> {
  for (let item = found; ; ) {
    const waits = item.status === 'waiting' && found.status !== 'waiting';
    const hasEnded = item.status === 'success' || item.status === 'failed';
    if (hasEnded || waits || item.epoch > epoch) return item;
    const taken: BatchItem = {
      ...item,
      ...{ status: 'processing', slot: number, epoch, attempt: item.attempt + 1, due: null },
      lostAttempts: item.lostAttempts + (item.status === 'processing' ? 1 : 0),
    };
    if (await batches.replaceItem(batch, item, taken)) return taken;
    const current = await batches.item(batch, item.requestIndex);
    if (current === undefined)
      throw new Error(`Request ${item.requestIndex} of batch ${batch.id} has no item`);
    item = current;
  }
}

export async function prepareRequest(
  services: ClaimServices,
  { batch, workspace, format }: Claimant,
  item: BatchItem,
): Promise<ClaimedRequest> {
  const requests = await services.batches.requests(batch, [item.requestIndex]);
  const [request] = requests;
  if (request === undefined) throw new Error(`Request ${item.requestIndex} of batch ${batch.id} is gone`);
  const prepared = await prepareRequests(services, workspace, requests, await format());
  const hasChat = request.historyId !== null || item.chatId !== null;
  const found = prepared.get(item.requestIndex) as Prepared | Invalid;
  // A request without history_id that was invalid at its claim got no chat. So it stays invalid, even if the reason is
  // gone.
  return {
    ...{ request, item, newChat: null },
    prepared: hasChat || 'invalid' in found ? found : { invalid: 'Agent version not found' },
  };
}

export interface Attempt extends Pick<RequestAttempt, 'item' | 'calls'> {
  /**
   * See `AttemptEnd`. `blocked`: also an error of the service. After `broken`, `item` counts the reply, and is not yet
   * stored.
   */
  outcome: 'success' | 'failed' | 'lost' | 'broken' | 'busy' | 'blocked';
  retryAfter?: number | undefined;
}

/** A request fails after this many lost workers, or at an error of the service from the attempt of this number on. */
const mostAttempts = 10;

const unprocessed = 'The request could not be processed';

/** Errors are logged and not thrown, except an error of the write that ends the last attempt. */
export async function attemptRequest(
  services: RespondServices,
  batch: Batch,
  { prepared, ...claimed }: ClaimedRequest,
  control: Pick<RequestAttempt, 'stop' | 'isOwner'>,
): Promise<Attempt> {
  // A request that waited long in the buffer has too little left of its chat lease, and acquires it once more.
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

/** Milliseconds. See `waitOf`. */
const baseWaits = { ofModel: 10_000, blocked: 2500 };

const longestWait = 300_000;

/** The longest delay of a message of SQS, in milliseconds. */
const longestDelay = 900_000;

/**
 * Milliseconds, see `waitOf`. During such a wait, the request keeps its place in the worker, so that the worker calls a
 * busy model less.
 */
export const waitsAtOnce = [5000, 10_000];

/** Milliseconds until the next attempt. The factor spreads the retries of request groups that failed together. */
export function waitOf({ outcome, item, retryAfter = 0 }: Attempt, shortWait: number | undefined): number {
  const base = outcome === 'blocked' ? baseWaits.blocked : baseWaits.ofModel;
  const wait = shortWait ?? Math.min(base * 2 ** item.attempt, longestWait);
  const spread = 0.75 + (Math.floor(item.requestIndex / requestsPerGroup) % 10) / 20;
  return Math.min(Math.max(retryAfter, wait * spread), longestDelay);
}

type Source<Item> = AsyncIterator<Item, unknown> | Iterator<Item, unknown>;

/** @param onFailure gets each error. What has failed ends, and the other sources continue */
export async function* takeTurns<Item>(
  sources: Iterable<Source<Item>> | AsyncIterable<Source<Item>>,
  onFailure: (error: unknown) => void,
): AsyncGenerator<Item> {
  const nextOf = async <Value>(source: Source<Value>): Promise<{ value: Value } | undefined> => {
    try {
      const { done, value } = await source.next();
      return done === true ? undefined : { value };
    } catch (error) {
      onFailure(error);
      return undefined;
    }
  };
  const opening: Source<Source<Item>> =
    Symbol.asyncIterator in sources ? sources[Symbol.asyncIterator]() : sources[Symbol.iterator]();
  const waiting: Source<Item>[] = [];
  for (;;) {
    const source = (await nextOf(opening))?.value ?? waiting.shift();
    if (source === undefined) return;
    const item = await nextOf(source);
    if (item === undefined) continue;
    yield item.value;
    waiting.push(source);
  }
}
