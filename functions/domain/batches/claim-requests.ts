import { chatNotFound, ServiceError } from '#contract/errors.ts';
import type { AgentServices } from '#domain/agents/services.ts';
import type { ChatServices } from '#domain/chats/services.ts';
import { findAttachedFiles } from '#domain/files/find-attached-files.ts';
import type { FileServices } from '#domain/files/services.ts';
import type { PlatformServices } from '#domain/platform/services.ts';
import type { WorkspaceServices } from '#domain/workspaces/services.ts';
import type { Workspace } from '#domain/workspaces/workspace.ts';
import { type Batch, type BatchItem, type BatchRequest, chatLeaseOf } from './batch.ts';
import type { Claim, ClaimedItem } from './batch-transitions.ts';
import { chatLease, type Prepared } from './process-batch-item.ts';
import type { BatchServices } from './services.ts';

export type ClaimServices = Pick<BatchServices, 'batchSettings' | 'batches'> &
  Pick<ChatServices, 'chats' | 'replySettings'> &
  Pick<FileServices, 'fileIndex'> &
  Pick<AgentServices, 'agents'> &
  Pick<WorkspaceServices, 'workspaces'> &
  Pick<PlatformServices, 'clock'>;

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

export interface Invalid {
  /** Error message for the client. */
  invalid: string;
}

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
  const prepared = await prepareAll(services, workspace, ready);
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

async function prepareAll(
  services: ClaimServices,
  workspace: Workspace,
  requests: readonly BatchRequest[],
): Promise<Map<number, Prepared | Invalid>> {
  const prepare = async (request: BatchRequest): Promise<Prepared | Invalid> => {
    // A client's message is never empty.
    if (request.message === '') return { invalid: await whyErased(services, workspace, request) };
    const find = findAttachedFiles(services);
    const [agent, isAllowed, files] = await Promise.all([
      services.agents.published(workspace.id, request.agentId),
      mayUse(services, workspace, request),
      find(workspace.id, request.attachedFileUuids).catch(invalidity),
    ]);
    if (agent === undefined) return { invalid: 'Agent version not found' };
    if (!isAllowed) return { invalid: 'external_user_id is not on the whitelist of this workspace' };
    return 'invalid' in files ? files : { agent, attachments: files };
  };
  return new Map(
    await Promise.all(
      requests.map(async (request) => [request.requestIndex, await prepare(request)] as const),
    ),
  );
}

/** The text of a request is erased with its chat, or with its user. */
async function whyErased(
  { chats }: Pick<ChatServices, 'chats'>,
  { id }: Workspace,
  { historyId }: BatchRequest,
): Promise<string> {
  const isChatGone = historyId !== null && (await chats.get(id, historyId)) === undefined;
  return isChatGone ? chatNotFound().message : 'The request was erased';
}

function invalidity(error: unknown): Invalid {
  if (error instanceof ServiceError && error.kind === 'badRequest') return { invalid: error.message };
  throw error;
}

async function mayUse(
  services: ClaimServices,
  workspace: Workspace,
  { externalUserId }: BatchRequest,
): Promise<boolean> {
  if (!workspace.whitelistEnabled) return true;
  return externalUserId !== null && services.workspaces.isListed(workspace.id, externalUserId);
}
