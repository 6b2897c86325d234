import { ServiceError } from '#contract/errors.ts';
import { stopBatch } from './advance-batch.ts';
import {
  answerBatchItem,
  chatLease,
  chatLeaseOf,
  type ItemEnd,
  type Prepared,
  refused,
} from './answer-batch-item.ts';
import {
  type Batch,
  type BatchItem,
  type BatchRequest,
  type CountedCall,
  isOpen,
  mayBeOver,
} from './batch.ts';
import { countUsage } from './count-usage.ts';
import { findAttachedFiles } from './find-attached-files.ts';
import type { QueuedRequest } from './ports/batch-queue.ts';
import type { Claim, HeldItem } from './ports/batch-store.ts';
import type { Services } from './services.ts';
import { wakeBatch } from './wake-batch.ts';
import type { Workspace } from './workspace.ts';

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
  | 'meter'
  | 'replySettings'
  | 'usage'
  | 'workspaces'
>;

/** Waits between tries, seconds: 5, 10, 20 … to five minutes, so that a model that comes back is soon asked. */
const firstWait = 5;
const longestWait = 300;
/** SQS delays a message for 15 minutes at most. */
const longestDelay = 900;
/** Milliseconds that two functions' clocks may differ, less than the shortest wait. */
const clockDifference = 1000;

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
  if (batch.stop !== null) return [];
  const [workspace, items, requests] = await Promise.all([
    services.workspaces.get(workspaceId),
    services.batches.items(batch, positions),
    services.batches.requests(batch, positions),
  ]);
  if (workspace?.enabled !== true) {
    await stopBatch(services, batch, 'failed');
    await wakeBatch(services)(batch);
    return [];
  }
  // What is over, being done, or to be tried later needs nothing from here: a message more than that is one too many.
  const itemAt = new Map(positions.map((position, index) => [position, items[index]]));
  const now = services.clock.now();
  const free = requests.filter(({ position }) => isFree(itemAt.get(position), now));
  const prepared = await prepareAll(services, workspace, free);
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
    milliseconds: services.replySettings.lease,
    chat: { idOf: (position) => chatLeaseOf(batch, position), milliseconds: chatLease(services) },
  });
  const outcomes = await Promise.all(held.map((each) => finish(services, batch, each, prepared)));
  await tell(services, batch, outcomes);
  return outcomes
    .filter(({ outcome }) => outcome === 'not handled')
    .map(({ request: { position } }) => ({ workspaceId, batchId, position }));
}

/**
 * A request that waits has a message of its own, which comes when its time has: another one, such as a message that the
 * queue delivers twice, would make two of it, and each of them two more.
 */
function isFree(item: BatchItem | undefined, now: Date): boolean {
  if (item === undefined) return true;
  if (item.status === 'waiting') return item.leaseUntil - clockDifference <= now.getTime();
  return item.status === 'processing' && item.leaseUntil < now.getTime();
}

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
  workspace: Workspace,
  requests: readonly BatchRequest[],
): Promise<Map<number, Prepared | Invalid>> {
  const prepare = async (request: BatchRequest): Promise<Prepared | Invalid> => {
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
    await Promise.all(requests.map(async (request) => [request.position, await prepare(request)] as const)),
  );
}

function invalidity(error: unknown): Invalid {
  if (error instanceof ServiceError && error.kind === 'badRequest') return { invalid: error.message };
  throw error;
}

async function mayUse(
  services: ProcessServices,
  workspace: Workspace,
  { externalUserId }: BatchRequest,
): Promise<boolean> {
  if (!workspace.whitelistEnabled) return true;
  return externalUserId !== null && services.workspaces.isListed(workspace.id, externalUserId);
}

interface Finished {
  request: BatchRequest;
  outcome: 'success' | 'failed' | 'later' | 'lost' | 'not handled';
  /** Of the model, in this try. */
  calls: readonly CountedCall[];
}

async function finish(
  services: ProcessServices,
  batch: Batch,
  held: HeldItem,
  prepared: ReadonlyMap<number, Prepared | Invalid>,
): Promise<Finished> {
  const { request } = held;
  const calls: CountedCall[] = [];
  try {
    const found = prepared.get(request.position);
    const end: ItemEnd =
      found === undefined || 'invalid' in found
        ? refused(services, held.item, found?.invalid ?? 'The request is gone')
        : await answerBatchItem(services)(batch, held, found, (made) => calls.push(...made));
    return { request, outcome: await save(services, batch, end), calls };
  } catch (error) {
    services.log.error('A request of a batch was not handled', {
      batchId: batch.id,
      position: request.position,
      error,
    });
    return { request, outcome: 'not handled', calls };
  }
}

async function save(services: ProcessServices, batch: Batch, end: ItemEnd): Promise<Finished['outcome']> {
  if (end.type === 'lost') return 'lost';
  if (end.type === 'ended') {
    const isSaved = await services.batches.save(batch, end.item);
    if (!isSaved) return 'lost';
    return end.item.status === 'success' ? 'success' : 'failed';
  }
  const { position } = end.item;
  const wait = waitOf(end.item, end.retryAfter);
  const leaseUntil = services.clock.now().getTime() + wait * 1000;
  if (!(await services.batches.save(batch, { ...end.item, status: 'waiting', leaseUntil }))) return 'lost';
  await services.batchQueue.send([{ workspaceId: batch.workspaceId, batchId: batch.id, position }], wait);
  return 'later';
}

/** Seconds. A quarter more or less, so that what failed together does not come back together. */
function waitOf({ attempt, position }: BatchItem, retryAfter = 0): number {
  const wait = Math.min(firstWait * 2 ** (attempt - 1), longestWait);
  const spread = 0.75 + (position % 10) / 20;
  return Math.min(Math.ceil(Math.max(retryAfter / 1000, wait * spread)), longestDelay);
}

/** Counts what has ended, lets the next requests of histories go, and wakes the workflow when it may be the end. */
async function tell(services: ProcessServices, batch: Batch, finished: readonly Finished[]): Promise<void> {
  const countOf = (wanted: Finished['outcome']): number =>
    finished.filter(({ outcome }) => outcome === wanted).length;
  services.meter.requestsWorked({
    done: countOf('success'),
    failed: countOf('failed'),
    putOff: countOf('later'),
  });
  const ended = finished.filter(hasEnded);
  if (ended.length === 0) return countRequests(services, batch, finished);
  await sendSuccessors(
    services,
    batch,
    ended.map(({ request }) => request),
  );
  const completed = ended.filter(({ outcome }) => outcome === 'success').length;
  const [counted] = await Promise.all([
    services.batches.count(batch, { completed, failed: ended.length - completed }),
    countRequests(services, batch, finished),
  ]);
  if (counted !== undefined && mayBeOver(counted)) await wakeBatch(services)(counted);
}

const hasEnded = ({ outcome }: Finished): boolean => outcome === 'success' || outcome === 'failed';

/** One write for each agent that was asked: nearly always one. */
async function countRequests(
  services: ProcessServices,
  { workspaceId, apiKeyId }: Batch,
  finished: readonly Finished[],
): Promise<void> {
  const byAgent = Map.groupBy(finished, ({ request }) => request.agentId);
  await Promise.all(
    [...byAgent].map(([agentId, requests]) =>
      countUsage(services)({
        ...{ workspaceId, apiKeyId, agentId },
        counts: {
          batchRequests: requests.filter(hasEnded).length,
          failedBatchRequests: requests.filter(({ outcome }) => outcome === 'failed').length,
        },
        calls: requests.flatMap(({ calls }) => calls),
      }),
    ),
  );
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
