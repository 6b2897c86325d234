import type { Chat } from '#domain/chats/chat.ts';
import type { Workspace } from '#domain/workspaces/workspace.ts';
import { type Batch, type BatchItem, type BatchRequest, chatLeaseOf, type OwnedSlot } from './batch.ts';
import { type CheckServices, type Invalid, type Prepared, prepareRequests } from './check-request.ts';
import { chatLease } from './respond-to-request.ts';
import type { Services } from './services.ts';

export type ClaimServices = CheckServices & Services<'batchSettings' | 'batches'>;

/** Milliseconds for which a claimed request may be in the buffer of its worker, and still own the chat that it has got. */
const longestBuffered = 60_000;

/** A request that its worker may process. */
export interface ClaimedRequest {
  request: BatchRequest;
  item: BatchItem;
  /** The chat that was created with the claim. */
  newChat: Chat | null;
  prepared: Prepared | Invalid;
}

export interface Claimant {
  batch: Batch;
  workspace: Workspace;
  slot: OwnedSlot;
}

/** Requests that a take has started. */
export interface Started {
  block: readonly number[];
  named: readonly number[];
}

/**
 * Stores the first items of requests that a take has started. Repeats the checks of the creation first, because agents,
 * files and the whitelist may have changed since.
 * @param started `block`: new requests, without those that follow another one in their history; `named`: by their index
 * @returns also the items that a former owner of the slot has stored, or a write of this one whose response was lost
 */
export async function claimRequests(
  services: ClaimServices,
  { batch, workspace, slot }: Claimant,
  { block, named }: Started,
): Promise<{ claimed: ClaimedRequest[]; others: BatchItem[] }> {
  const stored = await services.batches.requests(batch, [...block, ...named]);
  const requests = stored.filter(
    ({ requestIndex, previous }) => previous === null || named.includes(requestIndex),
  );
  const prepared = await prepareRequests(services, workspace, requests);
  const preparedOf = ({ requestIndex }: BatchRequest): Prepared | Invalid =>
    prepared.get(requestIndex) ?? { invalid: 'The request is gone' };
  const claims = requests.map((request) => {
    const { requestIndex, agentId, name, externalUserId } = request;
    // A request that has become invalid since the batch was created gets no chat.
    const needsChat = request.historyId === null && !('invalid' in preparedOf(request));
    return {
      request,
      newChat: needsChat ? { workspaceId: workspace.id, agentId, name, externalUserId } : null,
      item: {
        ...{ requestIndex, status: 'processing', slot: slot.number, epoch: slot.epoch, attempt: 1 },
        ...{ brokenReplies: 0, lostAttempts: 0, due: null, chatId: null },
        // The message of the request is the first one of its chat.
        messagePosition: needsChat ? 1 : null,
        ...{ error: null, incomplete: null, calls: [], processedAt: null },
      } satisfies BatchItem as BatchItem,
    };
  });
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

/**
 * Makes a request the caller's: one that waits, or whose worker was lost.
 * @param found as it was read
 * @returns the item as it is now: not the caller's if it has ended, waits, or belongs to a later owner of the slot
 */
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

/** Reads and checks what a request needs whose item was taken over. */
export async function prepareRequest(
  services: ClaimServices,
  { batch, workspace }: Claimant,
  item: BatchItem,
): Promise<ClaimedRequest> {
  const requests = await services.batches.requests(batch, [item.requestIndex]);
  const [request] = requests;
  if (request === undefined) throw new Error(`Request ${item.requestIndex} of batch ${batch.id} is gone`);
  const prepared = await prepareRequests(services, workspace, requests);
  const hasChat = request.historyId !== null || item.chatId !== null;
  const found = prepared.get(item.requestIndex) as Prepared | Invalid;
  // A request that was invalid at its claim got no chat.
  return {
    ...{ request, item, newChat: null },
    prepared: hasChat || 'invalid' in found ? found : { invalid: 'Agent version not found' },
  };
}
