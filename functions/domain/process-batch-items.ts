import type { AgentVersion } from './agent.ts';
import {
  answerBatchItem,
  chatLeaseOf,
  chatLeaseUntil,
  type ItemEnd,
  type Prepared,
} from './answer-batch-item.ts';
import { type Batch, type BatchItem, type BatchRequest, isOpen } from './batch.ts';
import { findAttachedFiles } from './find-attached-files.ts';
import type { QueuedRequest } from './ports/batch-queue.ts';
import type { Claim, HeldItem } from './ports/batch-store.ts';
import type { Services } from './services.ts';
import { wakeBatch } from './wake-batch.ts';

export type ProcessServices = Pick<
  Services,
  | 'agentRuntime'
  | 'agents'
  | 'batchQueue'
  | 'batchSettings'
  | 'batchWorkflow'
  | 'batches'
  | 'chats'
  | 'clock'
  | 'fileIndex'
  | 'log'
  | 'messages'
  | 'replySettings'
  | 'workspaces'
>;

/** Waits between tries, seconds: 5, 10, 20 … to five minutes, so that a model that comes back is soon asked. */
const firstWait = 5;
const longestWait = 300;
/** SQS delays a message for 15 minutes at most. */
const longestDelay = 900;

/**
 * Does requests that the queue has delivered. However often one is delivered, it ends once; whatever stops this
 * function, another delivery takes the request up where it stands.
 * @returns those that could not be handled, to be delivered again
 */
export const processBatchItems =
  (services: ProcessServices) =>
  async (delivered: readonly QueuedRequest[]): Promise<QueuedRequest[]> => {
    const groups = Map.groupBy(delivered, ({ workspaceId, batchId }) => `${workspaceId} ${batchId}`);
    const failed = await Promise.all(
      [...groups.values()].map(async (group) => {
        try {
          return await processGroup(services, group);
        } catch (error) {
          services.log.error('Requests of a batch were not handled', { batchId: group[0]?.batchId, error });
          return group;
        }
      }),
    );
    return failed.flat();
  };

async function processGroup(services: ProcessServices, group: QueuedRequest[]): Promise<QueuedRequest[]> {
  const [{ workspaceId, batchId }] = group as [QueuedRequest];
  const positions = [...new Set(group.map(({ position }) => position))];
  const batch = await services.batches.get(workspaceId, batchId);
  // The queue may deliver what is over for long.
  if (batch === undefined || !isOpen(batch)) return [];
  const [items, requests] = await Promise.all([
    services.batches.items(batch, positions),
    services.batches.requests(batch, positions),
  ]);
  const itemAt = new Map(positions.map((position, index) => [position, items[index]]));
  const over = requests.filter(({ position }) => isOver(itemAt.get(position)));
  // Who ended them may have died before it told of it.
  if (over.length > 0) {
    await sendSuccessors(services, batch, over);
    await wakeBatch(services)(batch);
  }
  if (batch.stop !== null) return [];

  const now = services.clock.now();
  const free = requests.filter(({ position }) => isFree(itemAt.get(position), now));
  const prepared = await prepareAll(services, batch, free);
  const claims = free.map(
    (request): Claim => ({
      request,
      item: itemAt.get(request.position),
      newChat: needsChat(request, itemAt.get(request.position), prepared.get(request.position))
        ? {
            workspaceId,
            agentId: request.agentId,
            name: request.name,
            externalUserId: request.externalUserId,
          }
        : null,
    }),
  );
  const held = await services.batches.claim(batch, claims, {
    now,
    until: now.getTime() + services.replySettings.lease,
    leaseId: (position) => chatLeaseOf(batch, position),
    chatLeaseUntil: chatLeaseUntil(services),
  });
  const outcomes = await Promise.all(held.map((each) => finish(services, batch, each, prepared)));
  await tell(services, batch, outcomes);
  return outcomes
    .filter(({ outcome }) => outcome === 'not handled')
    .map(({ request: { position } }) => ({ workspaceId, batchId, position }));
}

const isOver = (item: BatchItem | undefined): boolean =>
  item?.status === 'success' || item?.status === 'failed';

const isFree = (item: BatchItem | undefined, now: Date): boolean =>
  item === undefined ||
  item.status === 'waiting' ||
  (item.status === 'processing' && item.leaseUntil < now.getTime());

/** A request that has become invalid since the batch was taken in gets no chat. */
const needsChat = (
  request: BatchRequest,
  item: BatchItem | undefined,
  prepared: Prepared | Invalid | undefined,
): boolean =>
  request.historyId === null &&
  (item === undefined || item.chatId === null) &&
  prepared !== undefined &&
  !('invalid' in prepared);

interface Invalid {
  /** What the client is told. */
  invalid: string;
}

/** What was checked when the batch was taken in may have changed since. */
async function prepareAll(
  services: ProcessServices,
  batch: Batch,
  requests: readonly BatchRequest[],
): Promise<Map<number, Prepared | Invalid>> {
  const [workspace, versions] = await Promise.all([
    services.workspaces.get(batch.workspaceId),
    Promise.all(requests.map(({ agentId }) => services.agents.published(batch.workspaceId, agentId))),
  ]);
  const prepare = async (
    request: BatchRequest,
    agent: AgentVersion | undefined,
  ): Promise<Prepared | Invalid> => {
    if (agent === undefined) return { invalid: 'Agent version not found' };
    if (workspace?.whitelistEnabled === true && !(await isListed(services, batch, request)))
      return { invalid: 'external_user_id is not on the whitelist of this workspace' };
    try {
      const find = findAttachedFiles(services);
      return { agent, attachments: await find(batch.workspaceId, request.attachedFileUuids) };
    } catch (error) {
      return { invalid: (error as Error).message };
    }
  };
  return new Map(
    await Promise.all(
      requests.map(
        async (request, index) => [request.position, await prepare(request, versions[index])] as const,
      ),
    ),
  );
}

const isListed = async (
  services: ProcessServices,
  { workspaceId }: Batch,
  { externalUserId }: BatchRequest,
): Promise<boolean> =>
  externalUserId !== null && (await services.workspaces.isListed(workspaceId, externalUserId));

interface Finished {
  request: BatchRequest;
  outcome: 'success' | 'failed' | 'later' | 'lost' | 'not handled';
}

async function finish(
  services: ProcessServices,
  batch: Batch,
  held: HeldItem,
  prepared: ReadonlyMap<number, Prepared | Invalid>,
): Promise<Finished> {
  const { request } = held;
  try {
    const found = prepared.get(request.position);
    const end: ItemEnd =
      found === undefined || 'invalid' in found
        ? { type: 'ended', item: refused(services, held.item, found?.invalid ?? 'The request is gone') }
        : await answerBatchItem(services)(batch, held, found);
    return { request, outcome: await save(services, batch, end) };
  } catch (error) {
    services.log.error('A request of a batch was not handled', {
      batchId: batch.id,
      position: request.position,
      error,
    });
    return { request, outcome: 'not handled' };
  }
}

const refused = (services: ProcessServices, item: BatchItem, message: string): BatchItem => ({
  ...item,
  status: 'failed',
  error: { code: 400, message },
  processedAt: services.clock.now().toISOString(),
});

async function save(services: ProcessServices, batch: Batch, end: ItemEnd): Promise<Finished['outcome']> {
  if (end.type === 'lost') return 'lost';
  if (end.type === 'ended') {
    const isSaved = await services.batches.save(batch, end.item);
    if (!isSaved) return 'lost';
    return end.item.status === 'success' ? 'success' : 'failed';
  }
  // The old message is acknowledged when the new one has been sent: a request may be delivered twice, never not at all.
  const { position, attempt } = end.item;
  const wait = Math.max(
    Math.ceil((end.retryAfter ?? 0) / 1000),
    Math.min(firstWait * 2 ** (attempt - 1), longestWait),
  );
  if (!(await services.batches.save(batch, { ...end.item, status: 'waiting' }))) return 'lost';
  await services.batchQueue.send(
    [{ workspaceId: batch.workspaceId, batchId: batch.id, position }],
    Math.min(wait, longestDelay),
  );
  return 'later';
}

/** Counts what has ended, lets the next requests of histories go, and wakes the workflow when it may be the end. */
async function tell(services: ProcessServices, batch: Batch, finished: readonly Finished[]): Promise<void> {
  const ended = finished.filter(({ outcome }) => outcome === 'success' || outcome === 'failed');
  if (ended.length === 0) return;
  await sendSuccessors(
    services,
    batch,
    ended.map(({ request }) => request),
  );
  const completed = ended.filter(({ outcome }) => outcome === 'success').length;
  const counted = await services.batches.count(batch, { completed, failed: ended.length - completed });
  if (counted.stop !== null || counted.completed + counted.failed >= counted.total)
    await wakeBatch(services)(counted);
}

async function sendSuccessors(
  services: ProcessServices,
  { workspaceId, id: batchId }: Batch,
  ended: readonly BatchRequest[],
): Promise<void> {
  const next = ended.flatMap(({ next: position }) =>
    position === null ? [] : [{ workspaceId, batchId, position }],
  );
  if (next.length > 0) await services.batchQueue.send(next);
}
