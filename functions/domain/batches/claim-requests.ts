import type { ChatServices } from '#domain/chats/services.ts';
import type { Workspace } from '#domain/workspaces/workspace.ts';
import { type Batch, type BatchItem, type BatchRequest, chatLeaseOf } from './batch.ts';
import type { Claim, ClaimedItem } from './batch-transitions.ts';
import { type CheckServices, type Invalid, type Prepared, prepareRequests } from './check-request.ts';
import { chatLease } from './respond-to-request.ts';
import type { BatchServices } from './services.ts';

export type ClaimServices = Pick<BatchServices, 'batchSettings' | 'batches'> &
  Pick<ChatServices, 'replySettings'> &
  CheckServices;

/**
 * Requests of one claim, unless more are needed to use the whole width of a worker: two request groups. Fewer would
 * make more claims, each with writes of its own. More would wait longer in the buffer of one worker.
 */
export const requestsPerClaim = 20;

/**
 * Milliseconds, the longest time for which a worker takes further requests. A claimed request that has not started by
 * then is released, so no claimed request waits longer.
 */
export const longestTaking = 60_000;

export interface ClaimedRequest extends ClaimedItem {
  prepared: Prepared | Invalid;
}

/**
 * Claims those of the requests whose predecessor in the same history has ended. Repeats the checks of the creation
 * first, because agents, files and the whitelist may have changed since.
 * @param worker name of the worker if it holds a slot, otherwise null
 * @returns `ready`: number of requests that may start now; `claimed`: those of them that no other worker has claimed
 */
export async function claimRequests(
  services: ClaimServices,
  { batch, workspace, worker }: { batch: Batch; workspace: Workspace; worker: string | null },
  requests: readonly BatchRequest[],
  itemAt: ReadonlyMap<number, BatchItem | undefined>,
): Promise<{ ready: number; claimed: ClaimedRequest[] }> {
  const ready = await withoutUnfinishedPrevious(services, batch, distinct(requests));
  const prepared = await prepareRequests(services, workspace, ready);
  const preparedOf = ({ requestIndex }: BatchRequest): Prepared | Invalid =>
    prepared.get(requestIndex) ?? { invalid: 'The request is gone' };
  const claims = ready.map((request): Claim => {
    const item = itemAt.get(request.requestIndex);
    return {
      request,
      item,
      newChat: needsChat(request, item, preparedOf(request))
        ? {
            workspaceId: workspace.id,
            agentId: request.agentId,
            name: request.name,
            externalUserId: request.externalUserId,
          }
        : null,
    };
  });
  const claimed = await services.batches.claimItems(batch, claims, {
    milliseconds: services.replySettings.lease,
    worker,
    chat: {
      idOf: (requestIndex) => chatLeaseOf(batch, requestIndex),
      milliseconds: chatLease(services) + longestTaking,
    },
  });
  return {
    ready: ready.length,
    claimed: claimed.map((each) => ({ ...each, prepared: preparedOf(each.request) })),
  };
}

/** The next request of a history may also be in a group that the worker takes. A transaction writes an item once. */
const distinct = (requests: readonly BatchRequest[]): BatchRequest[] => [
  ...new Map(requests.map((request) => [request.requestIndex, request])).values(),
];

/** A request that continues a history is enqueued, and may start, after the request before it has ended. */
async function withoutUnfinishedPrevious(
  services: Pick<BatchServices, 'batches'>,
  batch: Batch,
  requests: readonly BatchRequest[],
): Promise<BatchRequest[]> {
  const previous = requests.flatMap((request) => request.previous ?? []);
  if (previous.length === 0) return [...requests];
  const items = await services.batches.items(batch, previous);
  const ended = new Set(
    items.flatMap((item) =>
      item?.status === 'success' || item?.status === 'failed' ? [item.requestIndex] : [],
    ),
  );
  return requests.filter((request) => request.previous === null || ended.has(request.previous));
}

/** A request that has become invalid since the batch was created gets no chat. */
const needsChat = (
  request: BatchRequest,
  item: BatchItem | undefined,
  prepared: Prepared | Invalid,
): boolean =>
  request.historyId === null && (item === undefined || item.chatId === null) && !('invalid' in prepared);
