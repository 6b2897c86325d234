import { ServiceError } from '#contract/errors.ts';
import type { AgentServices } from '#domain/agents/services.ts';
import type { ChatServices } from '#domain/chats/services.ts';
import { findAttachedFiles } from '#domain/files/find-attached-files.ts';
import type { FileServices } from '#domain/files/services.ts';
import type { CountedCall } from '#domain/platform/model-usage.ts';
import type { PlatformServices } from '#domain/platform/services.ts';
import { countUsage } from '#domain/workspaces/count-usage.ts';
import type { WorkspaceServices } from '#domain/workspaces/services.ts';
import type { Workspace } from '#domain/workspaces/workspace.ts';
import {
  type Batch,
  type BatchItem,
  type BatchRequest,
  chatLeaseOf,
  isOpen,
  requestsPerGroup,
} from './batch.ts';
import type { QueuedRequests } from './batch-queue.ts';
import type { Claim, ClaimedItem } from './batch-transitions.ts';
import { completeTaskCallback } from './complete-task-callback.ts';
import { type DoneWithMessage, passSlotOn } from './pass-slot-on.ts';
import {
  chatLease,
  failed,
  type ItemEnd,
  type Prepared,
  processBatchItem,
  rejected,
} from './process-batch-item.ts';
import { messagesFor } from './send-requests.ts';
import type { BatchServices } from './services.ts';

export type ProcessServices = Pick<
  BatchServices,
  'batchQueue' | 'batchSettings' | 'batchWorkflow' | 'batches' | 'queueSettings'
> &
  Pick<ChatServices, 'agentRuntime' | 'chats' | 'messages' | 'replySettings'> &
  Pick<FileServices, 'fileIndex'> &
  Pick<AgentServices, 'agents'> &
  Pick<WorkspaceServices, 'usage' | 'workspaces'> &
  Pick<PlatformServices, 'clock' | 'log' | 'meter'>;

/** Seconds between attempts: 5, 10, 20 … up to five minutes, so that a model that recovers is called soon. */
const firstWait = 5;
const longestWait = 300;
/** SQS delays a message for 15 minutes at most. */
const longestDelay = 900;
/** Milliseconds that the clocks of two functions may differ: less than the shortest wait. */
const clockDifference = 1000;
/**
 * A request that waits for a busy model keeps its slot for three attempts, about half a minute, so the batch does not
 * call the model more often. After that it gives its slot to requests that may use other models.
 */
const attemptsWithSlot = 3;

/**
 * How many workers a request may lose: as many times as the queue delivers a message (lib/batch-workflow.ts). The
 * queue's own limit is not enough, because the reconciler requeues a request with an expired lease in a new message.
 */
const maxLostAttempts = 10;

/**
 * Processes the requests of a queue message. Each request ends once, however often the queue delivers the message. If
 * this function dies, another delivery continues.
 * @param isRedelivered whether the queue has delivered the message before
 * @returns false if the queue must deliver the message again
 */
export const processBatchItems =
  (services: ProcessServices) =>
  async (message: QueuedRequests, isRedelivered: boolean): Promise<boolean> => {
    try {
      return await processMessage(services, message, isRedelivered);
    } catch (error) {
      services.log.error('Requests of a batch were not handled', { batchId: message.batchId, error });
      return false;
    }
  };

async function processMessage(
  services: ProcessServices,
  message: QueuedRequests,
  isRedelivered: boolean,
): Promise<boolean> {
  const { workspaceId, batchId, positions: requestIndexes } = message;
  const batch = await services.batches.get(workspaceId, batchId);
  // The queue may deliver a message long after its batch has ended.
  if (batch === undefined || !isOpen(batch)) return true;
  if (batch.stop !== null) return true;
  const [workspace, items, requests] = await Promise.all([
    services.workspaces.get(workspaceId),
    services.batches.items(batch, requestIndexes),
    services.batches.requests(batch, requestIndexes),
  ]);
  const now = services.clock.now();
  if (workspace?.enabled !== true) {
    await services.batches.markFailed(batch, now.toISOString());
    await completeTaskCallback(services)(batch);
    return true;
  }
  // Finished, running or scheduled items need nothing: this message is a duplicate.
  const itemAt = new Map(requestIndexes.map((requestIndex, index) => [requestIndex, items[index]]));
  const claimable = requests.filter(({ requestIndex }) => isReady(itemAt.get(requestIndex), now));
  if (claimable.length === 0) return true;
  if (isRedelivered && claimable.length > 1) {
    await sendOneByOne(services, batch, message, claimable);
    return true;
  }
  const started = await claimReady(services, { batch, workspace }, claimable, itemAt);
  // Another worker has claimed all of them, and uses the slot.
  if (started.ready > 0 && started.claimed.length === 0) return true;
  const outcomes = await Promise.all(
    started.claimed.map((each) => finish(services, batch, each, started.prepared)),
  );
  const requestsThat = (outcome: Finished['outcome']): BatchRequest[] =>
    outcomes.filter((each) => each.outcome === outcome).map(({ request }) => request);
  const unhandled = requestsThat('not-handled');
  measure(services, outcomes);
  await Promise.all([
    passSlotOn(services)(batch, {
      message,
      succeeded: requestsThat('success'),
      failed: requestsThat('failed'),
      waiting: outcomes.flatMap(({ request, retry }) => (retry ? [{ request, ...retry }] : [])),
      isRedelivered: unhandled.length > 0,
    }),
    countRequests(services, batch, outcomes),
  ]);
  return unhandled.length === 0;
}

/**
 * Sends each request in its own message. One of them may have killed the last worker; alone, it cannot harm the others.
 */
async function sendOneByOne(
  services: ProcessServices,
  batch: Batch,
  { holdsPlace }: QueuedRequests,
  claimable: readonly BatchRequest[],
): Promise<void> {
  const requestIndexes = claimable.map(({ requestIndex }) => requestIndex);
  await services.batchQueue.send(messagesFor(batch, requestIndexes, { holdsPlace, size: 1 }));
  if (holdsPlace)
    await services.batches.recordOutcomes(batch, {
      completed: 0,
      failed: 0,
      slots: requestIndexes.length - 1,
    });
}

async function claimReady(
  services: ProcessServices,
  { batch, workspace }: { batch: Batch; workspace: Workspace },
  claimable: readonly BatchRequest[],
  itemAt: ReadonlyMap<number, BatchItem | undefined>,
): Promise<{ ready: number; claimed: ClaimedItem[]; prepared: Map<number, Prepared | Invalid> }> {
  const ready = await withoutUnfinishedPrevious(services, batch, claimable);
  const prepared = await prepareAll(services, workspace, ready);
  const claims = ready.map(
    (request): Claim => ({
      request,
      item: itemAt.get(request.requestIndex),
      newChat: needsChat(request, itemAt.get(request.requestIndex), prepared.get(request.requestIndex))
        ? {
            workspaceId: workspace.id,
            agentId: request.agentId,
            name: request.name,
            externalUserId: request.externalUserId,
          }
        : null,
    }),
  );
  const claimed = await services.batches.claimItems(batch, claims, {
    milliseconds: services.replySettings.lease,
    chat: { idOf: (requestIndex) => chatLeaseOf(batch, requestIndex), milliseconds: chatLease(services) },
  });
  return { ready: ready.length, claimed, prepared };
}

/** A request that continues a history is enqueued, and may start, after the request before it has ended. */
async function withoutUnfinishedPrevious(
  services: ProcessServices,
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

/**
 * A waiting request has a delayed message of its own. If a duplicate message claimed it earlier, there would be two
 * messages, and four after the next attempt.
 */
function isReady(item: BatchItem | undefined, now: Date): boolean {
  if (item === undefined) return true;
  if (item.status === 'waiting') return item.leaseUntil - clockDifference <= now.getTime();
  return item.status === 'processing' && item.leaseUntil < now.getTime();
}

/** A request that has become invalid since the batch was created gets no chat. */
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
  /** Error message for the client. */
  invalid: string;
}

/** Repeats the checks of the creation, because agents, files and the whitelist may have changed. */
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
    await Promise.all(
      requests.map(async (request) => [request.requestIndex, await prepare(request)] as const),
    ),
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
  outcome: 'success' | 'failed' | 'retry' | 'lease-lost' | 'not-handled';
  /** Model calls of this attempt. */
  calls: readonly CountedCall[];
  retry?: Omit<DoneWithMessage['waiting'][number], 'request'>;
}

async function finish(
  services: ProcessServices,
  batch: Batch,
  claimed: ClaimedItem,
  prepared: ReadonlyMap<number, Prepared | Invalid>,
): Promise<Finished> {
  const { request } = claimed;
  const calls: CountedCall[] = [];
  try {
    const found = prepared.get(request.requestIndex);
    const end: ItemEnd =
      found === undefined || 'invalid' in found
        ? rejected(services, claimed.item, found?.invalid ?? 'The request is gone')
        : claimed.item.lostAttempts >= maxLostAttempts
          ? failed(services, claimed.item, 'The request could not be processed')
          : await processBatchItem(services)(batch, claimed, found, (made) => calls.push(...made));
    return { request, ...(await save(services, batch, end)), calls };
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
  services: ProcessServices,
  batch: Batch,
  end: ItemEnd,
): Promise<Omit<Finished, 'request' | 'calls'>> {
  if (end.type === 'lease-lost') return { outcome: 'lease-lost' };
  if (end.type === 'ended') {
    if (!(await services.batches.finishItem(batch, end.item))) return { outcome: 'lease-lost' };
    return { outcome: end.item.status === 'success' ? 'success' : 'failed' };
  }
  const wait = waitOf(end.item, end.retryAfter);
  const due = services.clock.now().getTime() + wait * 1000;
  if (!(await services.batches.scheduleRetry(batch, end.item, due))) return { outcome: 'lease-lost' };
  return { outcome: 'retry', retry: { due, wait, keepsPlace: end.item.attempt <= attemptsWithSlot } };
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

function measure({ meter }: ProcessServices, finished: readonly Finished[]): void {
  const countOf = (wanted: Finished['outcome']): number =>
    finished.filter(({ outcome }) => outcome === wanted).length;
  meter.requestsProcessed({ done: countOf('success'), failed: countOf('failed'), delayed: countOf('retry') });
}

const hasEnded = ({ outcome }: Finished): boolean => outcome === 'success' || outcome === 'failed';

/** Makes one write for each agent. The requests of a message nearly always have the same agent. */
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
