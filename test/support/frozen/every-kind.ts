import { type Batch, type BatchItem, deliveryOf } from '#domain/batches/batch.ts';
import type { Claim } from '#domain/batches/batch-store.ts';
import { epochsPerSlot } from '#domain/batches/slots.ts';
import { responseIdOf } from '#domain/chats/chat.ts';
import type { WebhookDelivery } from '#domain/webhooks/webhook.ts';
import { sampleItem } from '../sample-batches.ts';
import {
  agent,
  agentId,
  agentVersion,
  apiKey,
  at,
  batch,
  batchRequest,
  bucketOwner,
  document,
  file,
  idempotencyKey,
  question,
  reply,
  start,
  userId,
  webhook,
  workspace,
  workspaceId,
} from './entities.ts';
import type { Stores } from './stores.ts';

/** A workspace with deleted chats. */
export const deletedId = 'ws_deleted';
/** The events of its resumable replies, with their blank lines. */
export const eventTexts = [
  'event: one\ndata: {"a":"ö"}\n\n',
  'event: two\ndata: {}\n\n',
  'event: three\ndata: {}\n\n',
];

/** Writes items of every kind, in every state that a store writes. Each call writes the same items. */
export async function writeEveryKind(stores: Stores): Promise<void> {
  await writeWorkspace(stores);
  await writeAgents(stores);
  await writeChats(stores);
  await writeOthers(stores);
  await writeOpenBatch(stores);
  await writeEndedBatches(stores);
  await writeDeletedChats(stores);
}

async function writeWorkspace({ workspaces, apiKeys }: Stores): Promise<void> {
  await workspaces.put(workspace);
  await workspaces.update(workspaceId, { ownLimits: workspace.ownLimits });
  await workspaces.addToWhitelist(workspaceId, [userId, 'gone']);
  await workspaces.removeFromWhitelist(workspaceId, ['gone']);
  await apiKeys.put(apiKey(1));
  await apiKeys.markUsed(apiKey(1), at(0).slice(0, 10), AbortSignal.timeout(10_000));
  await apiKeys.put(apiKey(2, { expiresAt: at(60) }));
  await apiKeys.replace(apiKey(2, { expiresAt: at(60) }), at(90), apiKey(3));
  await apiKeys.revoke(apiKey(3).id, at(9));
}

async function writeAgents({ agents }: Stores): Promise<void> {
  const draft = { ...agent, publishState: 'draft', newestVersion: 0, publishedVersionId: null } as const;
  await agents.create({ ...draft, publishedAt: null, updatedAt: at(1), revision: 0 });
  await agents.save({ ...agent, revision: 0 }, agentVersion);
  const other = { ...draft, id: agentId.replace(/1$/, '2'), publishedAt: null, revision: 0 } as const;
  await agents.create(other);
  await agents.save({ ...other, publishState: 'unpublished' }, null);
}

async function writeChats({ chats, messages, feedback }: Stores): Promise<void> {
  const newChat = { workspaceId, agentId, name: 'A chat', externalUserId: userId };
  const lease = { id: 'lease-1', until: start + 30_000 };
  const chat = await chats.create(newChat);
  await chats.takeLease({ workspaceId, chatId: chat.id, agentId, externalUserId: userId, lease, now: at(4) });
  await messages.put(chat, question);
  await messages.putAndRelease(chat, lease.id, reply);
  await feedback.record(chat, 2, {
    externalUserId: userId,
    type: 'sys_helpful',
    content: null,
    createdAt: at(6),
  });
  const content = 'Shorter';
  await feedback.record(chat, 2, { externalUserId: userId, type: 'sys_improve', content, createdAt: at(7) });

  // A chat whose reply is in progress.
  const other = await chats.createWithKey({ ...newChat, externalUserId: null }, idempotencyKey('chat'));
  if (other === undefined) throw new Error('The key is in use');
  await chats.takeOverLease(other, lease);
  await messages.putWithKey(other, { ...question, attachments: [] }, idempotencyKey('turn'));

  const large = await chats.create(newChat);
  await messages.put(large, { ...question, content: 'q'.repeat(300_001) });
  const data = 's'.repeat(300_001);
  const [step] = reply.reasoningSteps;
  if (step === undefined) throw new Error('The reply has no step');
  const reasoningSteps = [{ ...step, result: { success: true, data } }];
  const whole = { ...reply, error: null, agentVersionId: null };
  await messages.put(large, { ...whole, content: 'r'.repeat(300_000), reasoningSteps });
}

async function writeOthers({ fileIndex, knowledge, usage, rateBuckets, idempotency }: Stores): Promise<void> {
  await fileIndex.put(file);
  await fileIndex.put({ ...file, uuid: file.uuid.replace(/1$/, '2'), scope: 'persistent', expiresAt: null });
  const moved = { objectName: `knowledge/${workspaceId}/1`, indexBytes: 1234 };
  await knowledge.move(workspaceId, 0, moved, { put: [{ document, passages: [] }], remove: ['none'] });
  const counts = {
    turns: 1,
    failedTurns: 2,
    batchRequests: 3,
    failedBatchRequests: 4,
    uploads: 5,
    uploadedBytes: 6,
  };
  const owner = { workspaceId, apiKeyId: apiKey(1).id };
  const day = at(0).slice(0, 10);
  await usage.add({ ...owner, agentId, counts, calls: [['openai:test', 'chat', 10, 20]] }, day);
  await usage.add({ ...owner, agentId: null, counts: { uploads: 1, uploadedBytes: 29 }, calls: [] }, day);
  const change = { rateClass: 'sends', amount: 200, latest: start + 2000 } as const;
  for (const isFull of [true, false])
    await rateBuckets.take(bucketOwner, [{ ...change, isFull }], { now: start, expiresAt: start + 2000 });
  await idempotency.store(idempotencyKey('batch'), { is: 'batch', batchId: batch(1).id });
}

/**
 * A batch of three request groups, with a batch item in each state. The texts of its last group are too large for one
 * item.
 */
async function writeOpenBatch({ batches }: Stores): Promise<void> {
  const open = batch(1, { total: 25, webhookEvents: webhook.events });
  const requests = Array.from({ length: open.total }, (_, position) => batchRequest(position));
  requests[1] = batchRequest(1, {
    externalUserId: userId,
    name: 'A name',
    attachedFileUuids: [file.uuid],
    historyId: 1,
    next: 3,
  });
  requests[3] = batchRequest(3, { externalUserId: userId, historyId: 1, previous: 1 });
  for (const position of [20, 21])
    requests[position] = batchRequest(position, { message: 't'.repeat(150_001) });
  await batches.create(open, requests, webhook, null);
  await batches.saveTaskToken(open, 'token-of-the-task', at(1));
  await batches.topUp(open, [1, 2, 3], start + 60_000);
  const owner = { name: 'worker', until: start + 30_000 };
  const [first, second] = [
    await batches.acquire(open, { number: 1, epoch: 0 }, owner),
    await batches.acquire(open, { number: 2, epoch: epochsPerSlot }, owner),
  ];
  if (first === undefined || second === undefined) throw new Error('The slots were not acquired');
  await batches.take(open, { ...first.slot, takes: 0 }, { size: 20, named: { 2: 2 } });
  await batches.pass(open, second.slot, { until: start + 60_000, isClean: false });
  await batches.incrementExecutionNumber(open);

  const claims = [0, 1, 2, 4].map(
    (position): Claim => ({
      request: batchRequest(position),
      item: sampleItem(position, { messagePosition: position === 1 ? null : 1 }),
      newChat: position === 1 ? null : { workspaceId, agentId, name: `id-${position}`, externalUserId: null },
    }),
  );
  const claimed = await batches.claim(open, claims, {
    idOf: (position) => `batch:${open.id}:${position}`,
    until: start + 270_000,
  });
  const [success, failed, waiting] = claimed.map(({ item }) => item) as [BatchItem, BatchItem, BatchItem];
  const calls: BatchItem['calls'] = [['openai:test', 'chat', 10, 20]];
  await batches.replaceItem(open, success, { ...success, status: 'success', calls, processedAt: at(5) });
  const error = { code: 500, message: 'The model failed' };
  await batches.replaceItem(open, failed, {
    ...failed,
    status: 'failed',
    error,
    brokenReplies: 3,
    processedAt: at(5),
  });
  const due = start + 5000;
  await batches.replaceItem(open, waiting, { ...waiting, status: 'waiting', brokenReplies: 1, due });

  const cancelling = batch(2);
  await batches.create(cancelling, [batchRequest(0)], null, null);
  await batches.stop(cancelling, { reason: 'cancelled', at: at(2) });
}

/** One batch for each final status, with each state of a webhook's delivery. */
async function writeEndedBatches({ batches, deliveries }: Stores): Promise<void> {
  const close = async (ended: Batch): Promise<WebhookDelivery | null> => {
    const delivery = deliveryOf(ended);
    const open = { ...ended, status: 'in_progress' as const };
    await batches.create(open, [batchRequest(0)], open.webhookEvents.length > 0 ? webhook : null, null);
    const { stop } = ended;
    const stopped = stop === null ? open : await batches.stop(open, stop);
    await batches.complete(stopped ?? open, ended, delivery);
    return delivery;
  };
  const completed = { status: 'completed', completedAt: at(8) } as const;
  const stoppedBy = (reason: 'failed' | 'cancelled') => ({
    status: reason,
    failed: 1,
    stop: { reason, at: at(7) },
  });
  const withHook = (number: number, fields: Partial<Batch>): Batch =>
    batch(number, { webhookEvents: webhook.events, ...fields });
  const ends: [Batch, state: WebhookDelivery['state']][] = [
    [withHook(3, { ...completed, completed: 1 }), 'delivered'],
    [withHook(4, { ...completed, failed: 1 }), 'pending'],
    [withHook(5, { ...stoppedBy('failed'), completedAt: at(8) }), 'gone'],
    [withHook(6, { ...stoppedBy('cancelled'), cancelledAt: at(8) }), 'exhausted'],
  ];
  const responses = { delivered: 200, pending: null, gone: 410, exhausted: 500 } as const;
  for (const [ended, state] of ends) {
    const delivery = await close(ended);
    const started = delivery && (await deliveries.start(delivery, { at: at(8), nextAt: at(9) }));
    if (!started) throw new Error(`The delivery of ${ended.id} did not start`);
    const status = responses[state];
    const failure = status === null ? 'The connection was refused' : null;
    const then = { state, nextAt: at(10) };
    await deliveries.end(started.delivery, { ...started.attempt, duration: 12, status, failure }, then);
  }
  await close(batch(7, { ...completed, failed: 1, stop: { reason: 'expired', at: at(7) } }));
  // An operator has restarted this delivery, and its attempt is still in progress.
  const resent = await close(withHook(8, { ...completed, completed: 1 }));
  const restarted = resent && (await deliveries.restart(resent, at(11)));
  if (!restarted) throw new Error('The delivery did not restart');
  await deliveries.start(restarted, { at: at(11), nextAt: at(12) });
}

/**
 * Of six chats, the second one is deleted during a resumable reply, the fourth one was made for a batch request, and a
 * client has stopped the reply of the third one.
 */
async function writeDeletedChats({ chats, batches, replyEvents }: Stores): Promise<void> {
  const newChat = { workspaceId: deletedId, agentId, name: 'A chat', externalUserId: userId };
  await chats.create(newChat);
  const [second, third] = [await chats.create(newChat), await chats.create(newChat)];
  const lease = { id: 'r-frozen', until: start + 30_000 };
  for (const chat of [second, third]) {
    await chats.takeOverLease(chat, lease);
    const reply = { workspaceId: deletedId, chatId: chat.id, responseId: responseIdOf(lease) };
    const [now, texts] = [new Date(start), eventTexts];
    await replyEvents.append(reply, { first: 0, texts: texts.slice(0, 1), isLast: false }, now);
    await replyEvents.append(reply, { first: 1, texts: texts.slice(1), isLast: true }, now);
  }
  await chats.stopLease({ ...third, lease }, lease.id, start + 3000);
  const owner = batch(10, { workspaceId: deletedId, total: 2 });
  await batches.create(owner, [batchRequest(0), batchRequest(1, { historyId: 1 })], null, null);
  const idOf = (requestIndex: number) => `batch:${owner.id}:${requestIndex}`;
  const claim = { request: batchRequest(0), item: sampleItem(0, { messagePosition: 1 }), newChat };
  await batches.claim(owner, [claim], { idOf, until: start + 270_000 });
  const fourth = await chats.get(deletedId, 4);
  if (fourth === undefined) throw new Error('The batch request has no chat');
  await chats.delete([{ ...second, lease }], at(6));
  await chats.delete([fourth], at(7));
  await chats.create(newChat);
  await chats.create({ ...newChat, externalUserId: null });
}
