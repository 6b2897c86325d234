import { randomUUID } from 'node:crypto';
import type { Batch, BatchItem, BatchRequest } from '#domain/batches/batch.ts';
import type { Claim } from '#domain/batches/batch-store.ts';
import type { WebhookDelivery } from '#domain/webhooks/webhook.ts';

const day = 24 * 60 * 60 * 1000;

/** A batch as it is created. */
export const sampleBatch = (now: Date, changes: Partial<Batch> = {}): Batch => ({
  id: randomUUID(),
  workspaceId: `ws_${randomUUID()}`,
  agentId: 'agent',
  apiKeyId: 'key',
  status: 'in_progress',
  total: 3,
  completed: 0,
  failed: 0,
  createdAt: now.toISOString(),
  expiresAt: new Date(now.getTime() + day).toISOString(),
  completedAt: null,
  cancelledAt: null,
  stop: null,
  webhookEvents: [],
  executionNumber: 1,
  next: 0,
  slotsMade: 0,
  slots: {},
  ...changes,
});

export const sampleRequest = (requestIndex: number, changes: Partial<BatchRequest> = {}): BatchRequest => ({
  requestIndex,
  customId: `request ${requestIndex}`,
  message: `Question ${requestIndex}`,
  agentId: 'agent',
  externalUserId: null,
  name: `request ${requestIndex}`,
  attachedFileUuids: [],
  historyId: null,
  next: null,
  previous: null,
  ...changes,
});

export const sampleRequests = (count: number): BatchRequest[] =>
  Array.from({ length: count }, (_, requestIndex) => sampleRequest(requestIndex));

/** A new item of a request, of the first owner of the first slot. */
export const sampleItem = (requestIndex: number, changes: Partial<BatchItem> = {}): BatchItem => ({
  ...{ requestIndex, status: 'processing', slot: 1, epoch: 1, attempt: 1, brokenReplies: 0, lostAttempts: 0 },
  ...{ due: null, chatId: null, messagePosition: null, error: null, incomplete: null, calls: [] },
  processedAt: null,
  ...changes,
});

/** The claim of a request, which creates its chat. */
export const firstClaim = ({ workspaceId }: Batch, request: BatchRequest): Claim => ({
  request,
  item: sampleItem(request.requestIndex, { messagePosition: 1 }),
  newChat: {
    workspaceId,
    agentId: request.agentId,
    name: request.name,
    externalUserId: request.externalUserId,
  },
});

export const sampleDelivery = (
  { workspaceId, id }: Pick<Batch, 'workspaceId' | 'id'>,
  nextAt: string,
): WebhookDelivery => ({
  ...{ workspaceId, batchId: id, body: '{"event":"batch.completed"}', state: 'pending' },
  ...{ round: 1, attempts: 0, allAttempts: 0, nextAt },
});
