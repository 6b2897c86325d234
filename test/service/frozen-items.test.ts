import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Key, keys } from '#adapters/dynamo/table/keys.ts';
import { type BatchItem, deliveryOf } from '#domain/batches/batch.ts';
import { missingIn } from '#support/frozen/compare-items.ts';
import {
  agent,
  agentId,
  agentVersion,
  apiKey,
  at,
  batch,
  batchRequest,
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
} from '#support/frozen/entities.ts';
import { deletedId, eventTexts } from '#support/frozen/every-kind.ts';
import { currentItems } from '#support/frozen/freeze-items.ts';
import { type FrozenItem, readFrozenItems } from '#support/frozen/read-frozen.ts';
import { type Stores, storesOn } from '#support/frozen/stores.ts';
import { type OpenTable, openTable } from '#support/open-table.ts';
import { sampleItem } from '#support/sample-batches.ts';

let items: FrozenItem[];
let table: OpenTable;
let stores: Stores;
beforeAll(async () => {
  items = await readFrozenItems();
  table = await openTable();
  await table.load(items);
  const texts = new Map([
    [`contents/${workspaceId}/1`, 'A long question'],
    [`contents/${workspaceId}/2`, JSON.stringify(reply.reasoningSteps)],
  ]);
  stores = storesOn(table.table, texts);
});
afterAll(() => table.close());

const day = at(0).slice(0, 10);
const openId = batch(1).id;
const auditId = (pk: string): string =>
  items.find((item) => item.pk.S === pk)?.sk.S?.split('#')[1] ?? `There is no ${pk}`;

describe('items of an earlier version', () => {
  it('are found by every key function', () => {
    // A kind of item that is newer than the fixtures has an empty list here, until the fixtures are made anew.
    const found: Record<keyof typeof keys, Key[]> = {
      apiKey: [keys.apiKey('1'.repeat(64))],
      apiKeyOfWorkspace: [keys.apiKeyOfWorkspace(workspaceId, 'key_frozen1')],
      workspace: [keys.workspace(workspaceId)],
      whitelistEntry: [keys.whitelistEntry(workspaceId, userId)],
      rateBuckets: [],
      slotReport: [],
      toolSecret: [],
      agent: [keys.agent(workspaceId, agentId)],
      publishedAgent: [keys.publishedAgent(workspaceId, agentId)],
      publishedEntry: [keys.publishedEntry(workspaceId, agentId)],
      agentVersion: [keys.agentVersion(workspaceId, agentId, 1)],
      lastNumber: (['CHATS', 'BATCHES'] as const).map((of) => keys.lastNumber(workspaceId, of)),
      chat: [keys.chat(workspaceId, 1)],
      chatList: [
        ...[{}, { agentId }, { externalUserId: userId }].flatMap((kind) => {
          const { entry, count } = keys.chatList(workspaceId, kind);
          return [entry(1), count('0#39')];
        }),
        // The chats of one claim.
        keys.chatList(workspaceId, {}).entry(4),
      ],
      message: [keys.message(workspaceId, 1, 1), keys.message(workspaceId, 1, 2)],
      feedbackCounts: [keys.feedbackCounts(workspaceId, 1, 2)],
      feedback: [keys.feedback(workspaceId, 1, 2, userId)],
      file: [keys.file(workspaceId, file.uuid)],
      knowledgeHead: [keys.knowledgeHead(workspaceId)],
      knowledgeDocument: [keys.knowledgeDocument(workspaceId, document.id)],
      idempotencyKey: [keys.idempotencyKey(workspaceId, 'chat')],
      usage: [
        keys.usage(workspaceId, day, 'key_frozen1', agentId, 'process_1'),
        keys.usage(workspaceId, day, 'key_frozen1', null, 'process_1'),
      ],
      batch: [keys.batch(workspaceId, openId)],
      batchToken: [keys.batchToken(workspaceId, openId)],
      batchWebhook: [keys.batchWebhook(workspaceId, openId)],
      batchFormat: [],
      batchManifest: [keys.batchManifest(workspaceId, openId, 0)],
      batchRequests: [0, 1, 2].map((group) => keys.batchRequests(workspaceId, openId, group)),
      batchText: [20, 21].map((position) => keys.batchText(workspaceId, openId, position)),
      batchItem: [0, 1, 2, 4].map((position) => keys.batchItem(workspaceId, openId, position)),
      webhookDelivery: [keys.webhookDelivery(workspaceId, batch(3).id)],
      deliveryAttempt: [keys.deliveryAttempt(workspaceId, batch(3).id, 1)],
      batchList: [
        keys.batchList(workspaceId, 'all').entry(1),
        keys.batchList(workspaceId, 'all').count('0#39'),
        keys.batchList(workspaceId, 'open').entry(1),
        keys.batchList(workspaceId, 'failed').entry(5),
        keys.batchList(workspaceId, 'cancelled').entry(6),
      ],
      openBatches: [keys.openBatches(workspaceId)],
      operatorsOpenBatch: [keys.operatorsOpenBatch(openId)],
      operatorsBatch: [keys.operatorsBatch(openId)],
      audit: [keys.audit(workspaceId, at(0), auditId(`W#${workspaceId}#AUDIT`))],
      operatorsAudit: [keys.operatorsAudit(at(0), auditId('OPERATOR#AUDIT'))],
      operatorsWorkspace: [keys.operatorsWorkspace(workspaceId)],
      operatorsAgent: [keys.operatorsAgent(agentId)],
      operatorsApiKey: [keys.operatorsApiKey('key_frozen1')],
      chatBatchRequest: [keys.chatBatchRequest(deletedId, 1, batch(10).id, 1)],
      operatorsPurge: [keys.operatorsPurge(at(6), deletedId, 2), keys.operatorsPurge(at(7), deletedId, 4)],
      operatorsErasure: [],
      operatorsPrices: [],
      operatorsRetention: [],
      userRating: [],
      userBatch: [],
      auditKey: [],
      chatOfFile: [],
      fileOfChat: [],
      operatorsWebhook: [],
      replyEvents: [0, 2].map((last) => keys.replyEvents(deletedId, 3, 'resp_r-frozen', last, 0)),
    };
    expect(Object.keys(found).toSorted()).toEqual(Object.keys(keys).toSorted());
    const stored = new Set(items.map(({ pk, sk }) => `${pk.S} ${sk.S}`));
    const missing = Object.entries(found).flatMap(([name, storedKeys]) =>
      storedKeys
        .filter(({ pk, sk }) => !stored.has(`${pk} ${sk}`))
        .map(({ pk, sk }) => `${name}: ${pk} ${sk}`),
    );
    expect(missing).toEqual([]);
  });

  it('are read as workspaces, keys and agents', async () => {
    const { workspaces, apiKeys, agents } = stores;
    expect(await workspaces.get(workspaceId)).toEqual(workspace);
    expect(await workspaces.list()).toEqual([workspace]);
    expect(await workspaces.isListed(workspaceId, userId)).toBe(true);
    expect(await workspaces.isListed(workspaceId, 'gone')).toBe(false);
    const used = apiKey(1, { lastUsedOn: day });
    const rotated = apiKey(2, { expiresAt: at(90) });
    const revoked = apiKey(3, { revokedAt: at(9) });
    expect(await apiKeys.byHash(used.hash)).toEqual(used);
    expect(await apiKeys.byId(rotated.id)).toEqual(rotated);
    expect(await apiKeys.list(workspaceId)).toEqual([used, rotated, revoked]);
    expect(await agents.get(workspaceId, agentId)).toEqual(agent);
    expect(await agents.published(workspaceId, agentId)).toEqual(agentVersion);
    expect(await Array.fromAsync(agents.listPublished(workspaceId))).toEqual([[agentVersion]]);
    expect((await agents.list(workspaceId)).map(({ publishState }) => publishState)).toEqual([
      'published',
      'unpublished',
    ]);
    expect(await agents.workspaceOf(agentId)).toBe(workspaceId);
  });

  it('are read as chats, messages and feedback', async () => {
    const { chats, messages, feedback } = stores;
    const chat = await chats.get(workspaceId, 1);
    expect(chat).toEqual({
      ...{ id: 1, workspaceId, agentId, name: 'A chat', externalUserId: userId },
      ...{ createdAt: at(0), updatedAt: at(4), messageCount: 2, lease: null },
    });
    const cut = await chats.get(workspaceId, 2);
    expect(cut).toMatchObject({ externalUserId: null, lease: { id: 'lease-1', until: start + 30_000 } });
    const large = await chats.get(workspaceId, 3);
    if (!chat || !cut || !large) return expect.unreachable();
    expect(await chats.openTurn(cut)).toEqual({ user: true, reply: false });
    const whole = { first: 1, last: 2, ascending: true };
    expect((await Array.fromAsync(messages.range(chat, whole))).flat()).toEqual([
      { message: question, feedbackCounts: {} },
      { message: reply, feedbackCounts: { sys_improve: 1 } },
    ]);
    const [longQuestion, longReply] = (await Array.fromAsync(messages.range(large, whole))).flat();
    expect(longQuestion?.message).toEqual({ ...question, content: 'A long question' });
    expect(longReply?.message).toMatchObject({ error: null, reasoningSteps: reply.reasoningSteps });
    const page = { limit: 2, offset: 0, ascending: true };
    const ofUser = await chats.page({ workspaceId, externalUserId: userId }, page);
    expect([ofUser.total, ...ofUser.chats.map(({ id }) => id)]).toEqual([2, 1, 3]);

    const repeated = {
      externalUserId: userId,
      type: 'sys_helpful',
      content: null,
      createdAt: at(8),
    } as const;
    await feedback.record(chat, 2, repeated);
    const [, rated] = (await Array.fromAsync(messages.range(chat, whole))).flat();
    expect(rated?.feedbackCounts).toEqual({ sys_helpful: 1 });
  });

  it('are read as lists with deleted chats, their purges, a stopped reply and stored events', async () => {
    const { chats, purgeOutbox, replyEvents } = stores;
    const page = { limit: 9, offset: 0, ascending: true };
    const idsOf = async (filter: object) => {
      const found = await chats.page({ workspaceId: deletedId, ...filter }, page);
      return [found.total, ...found.chats.map(({ id }) => id)];
    };
    for (const filter of [{}, { agentId }]) expect(await idsOf(filter)).toEqual([4, 1, 3, 5, 6]);
    expect(await idsOf({ externalUserId: userId })).toEqual([3, 1, 3, 5]);
    for (const id of [2, 4]) expect(await chats.get(deletedId, id)).toBeUndefined();
    expect(await Array.fromAsync(purgeOutbox.pages(at(7)))).toEqual([
      [
        { workspaceId: deletedId, chatId: 2, deletedAt: at(6), dueAt: start + 11 * 60_000 },
        { workspaceId: deletedId, chatId: 4, deletedAt: at(7), dueAt: start + 12 * 60_000 },
      ],
    ]);
    const stopped = await chats.get(deletedId, 3);
    expect(stopped?.lease).toEqual({ id: 'r-frozen', until: start + 3000, isStopped: true });
    const name = { workspaceId: deletedId, chatId: 3, responseId: 'resp_r-frozen' };
    expect(await replyEvents.hasReply(name, new Date(start))).toBe(true);
    const events = await Array.fromAsync(replyEvents.eventsFrom(name, 0));
    expect(events.flatMap(({ texts }) => texts)).toEqual(eventTexts);
    expect(events.map(({ first, isLast }) => [first, isLast])).toEqual([
      [0, false],
      [1, true],
    ]);
    const fifth = await chats.get(deletedId, 5);
    if (fifth === undefined) return expect.unreachable();
    expect(await chats.delete([fifth], at(8))).toHaveLength(1);
    expect(await idsOf({ externalUserId: userId })).toEqual([2, 1, 3]);
    expect(await idsOf({})).toEqual([3, 1, 3, 6]);
  });

  it('are read as files, knowledge, usage, idempotency records and audit', async () => {
    const { fileIndex, knowledge, usage, idempotency, auditLog } = stores;
    expect(await fileIndex.get(workspaceId, file.uuid)).toEqual(file);
    const persistent = { ...file, uuid: file.uuid.replace(/1$/, '2'), scope: 'persistent', expiresAt: null };
    expect(await fileIndex.get(workspaceId, persistent.uuid)).toEqual(persistent);
    const objectName = `knowledge/${workspaceId}/1`;
    expect(await knowledge.head(workspaceId)).toEqual({ revision: 1, objectName, indexBytes: 1234 });
    expect(await knowledge.documents(workspaceId)).toEqual([document]);
    expect((await Array.fromAsync(usage.between(workspaceId, day, day))).flat()).toMatchObject([
      { agentId: null, counts: { uploads: 1, uploadedBytes: 29 }, models: {} },
      {
        ...{ day, apiKeyId: 'key_frozen1', agentId },
        counts: {
          ...{ turns: 1, failedTurns: 2, batchRequests: 3, failedBatchRequests: 4 },
          ...{ uploads: 5, uploadedBytes: 6 },
        },
        models: { 'openai:test': { calls: 1, promptTokens: 10, completionTokens: 20 } },
      },
    ]);
    for (const [hash, work] of Object.entries({
      chat: { is: 'chat', chatId: 2, createdAt: at(0) },
      turn: { is: 'turn', chatId: 2, position: 1 },
      batch: { is: 'batch', batchId: openId },
    }))
      expect(await idempotency.find(idempotencyKey(hash))).toEqual({ fingerprint: `print of ${hash}`, work });
    const entries = (await Array.fromAsync(auditLog.between(workspaceId, day, day))).flat();
    expect(new Set(entries.map(({ actor }) => actor))).toEqual(new Set(['frozen operator']));
    expect(entries.map(({ action }) => action)).toEqual(
      expect.arrayContaining(['workspace created', 'key rotated', 'agent published', 'webhook resent']),
    );
    expect((await Array.fromAsync(auditLog.between(undefined, day, day))).flat()).toHaveLength(
      entries.length,
    );
  });

  it('are read as an open batch with items in every state', async () => {
    const { batches } = stores;
    const open = await batches.get(workspaceId, openId);
    const slot = { takes: 0, until: start + 60_000, isClean: true, first: 0, size: 0, named: {} };
    expect(open).toEqual(
      batch(1, {
        ...{ total: 25, webhookEvents: webhook.events, executionNumber: 2, next: 20, slotsMade: 3 },
        slots: {
          1: {
            ...{ ...slot, epoch: 1, owner: 'worker', takes: 1, until: start + 30_000, isClean: false },
            ...{ size: 20, named: { 2: 2 } },
          },
          // Without an owner: this one was passed on by its first one.
          2: { ...slot, epoch: 1_000_001, owner: null, isClean: false },
          3: { ...slot, epoch: 2_000_000, owner: null },
        },
      }),
    );
    expect(await batches.taskToken(batch(1))).toBe('token-of-the-task');
    expect(await batches.webhook(batch(1))).toEqual(webhook);
    if (open === undefined) return expect.unreachable();
    const [plain, full, , last, , long] = await batches.requests(open, [0, 1, 2, 3, 4, 20]);
    expect(plain).toEqual(batchRequest(0));
    expect(full).toEqual(
      batchRequest(1, {
        ...{ externalUserId: userId, name: 'A name', attachedFileUuids: [file.uuid], historyId: 1, next: 3 },
      }),
    );
    expect(last).toEqual(batchRequest(3, { externalUserId: userId, historyId: 1, previous: 1 }));
    expect(long?.message).toMatch(/^t+$/);
    const manifest = await batches.manifest(open);
    expect(manifest).toHaveLength(open.total);
    expect(manifest[1]).toEqual({ customId: 'id-1', historyId: 1, next: 3 });

    const started = sampleItem(0, { chatId: 4, messagePosition: 1 });
    const expected: BatchItem[] = [
      { ...started, status: 'success', calls: [['openai:test', 'chat', 10, 20]], processedAt: at(5) },
      sampleItem(1, {
        ...{ status: 'failed', brokenReplies: 3, error: { code: 500, message: 'The model failed' } },
        processedAt: at(5),
      }),
      {
        ...{ ...started, requestIndex: 2, status: 'waiting', brokenReplies: 1, due: start + 5000 },
        ...{ chatId: 5 },
      },
      { ...started, requestIndex: 4, chatId: 6 },
    ];
    const all = await batches.allItems(open);
    expect(all.toSorted((one, other) => one.requestIndex - other.requestIndex)).toEqual(expected);
    for (const position of [0, 3])
      expect(await batches.item(open, position)).toEqual(position === 0 ? expected[0] : undefined);
    expect(await batches.countOpen(workspaceId)).toBe(2);
    expect(await batches.workspaceOf(openId)).toBe(workspaceId);
  });

  it('are read as batches that have ended, with their deliveries', async () => {
    const { batches, deliveries } = stores;
    const ended = { webhookEvents: webhook.events };
    const expected = [
      batch(2, { status: 'cancelling', stop: { reason: 'cancelled', at: at(2) } }),
      batch(3, { ...ended, status: 'completed', completed: 1, completedAt: at(8) }),
      batch(4, { ...ended, status: 'completed', failed: 1, completedAt: at(8) }),
      batch(5, {
        ...{ ...ended, status: 'failed', failed: 1, completedAt: at(8) },
        stop: { reason: 'failed', at: at(7) },
      }),
      batch(6, {
        ...{ status: 'cancelled', failed: 1, cancelledAt: at(8), stop: { reason: 'cancelled', at: at(7) } },
        ...ended,
      }),
      batch(7, {
        ...{ status: 'completed', failed: 1, completedAt: at(8), stop: { reason: 'expired', at: at(7) } },
      }),
    ];
    const all = await batches.page(workspaceId, {}, { limit: 6, offset: 1 });
    expect(all.total).toBe(8);
    expect(all.batches.toReversed()).toEqual(expected);
    const page = { limit: 1, offset: 0 };
    for (const [status, total] of [
      ['in_progress', 1],
      ['cancelling', 1],
      ['completed', 4],
      ['failed', 1],
      ['cancelled', 1],
    ] as const)
      expect((await batches.page(workspaceId, { status }, page)).total, status).toBe(total);

    for (const [index, [state, status]] of (
      [
        ['delivered', 200],
        ['pending', null],
        ['gone', 410],
        ['exhausted', 500],
      ] as const
    ).entries()) {
      const owner = { workspaceId, batchId: batch(index + 3).id };
      const fresh = deliveryOf(expected[index + 1] ?? expect.unreachable());
      expect(await deliveries.get(owner)).toEqual({
        ...fresh,
        // The earlier version sent no metadata.
        body: fresh?.body.replace(',"metadata":{}', ''),
        ...{ state, attempts: 1, allAttempts: 1, nextAt: at(10) },
      });
      const failure = status === null ? 'The connection was refused' : null;
      expect(await deliveries.attempts(owner)).toEqual([
        { number: 1, round: 1, at: at(8), duration: 12, status, failure },
      ]);
    }
    const resent = { workspaceId, batchId: batch(8).id };
    expect(await deliveries.get(resent)).toMatchObject({ state: 'pending', round: 2, nextAt: at(12) });
    expect(await deliveries.attempts(resent)).toMatchObject([{ round: 2, duration: null, status: null }]);
  });
});

it('writes items that an earlier version reads: with all its attributes, of the same types', async () => {
  // An earlier version let DynamoDB delete the manifests of batches, and did not read that time itself.
  const read = items.map(({ ttl, ...item }) => {
    const isManifest = String(item.sk?.S).startsWith('OUTLINE#');
    return isManifest || ttl === undefined ? item : { ...item, ttl };
  });
  expect(missingIn(await currentItems(), read)).toEqual([]);
});

it('would tell of an attribute that is gone, is of another type, or is named by another word', () => {
  const frozen = { pk: { S: 'p' }, sk: { S: 's' }, status: { S: 'open' }, list: { L: [{ N: '1' }] } };
  expect(missingIn([], [frozen])).toEqual(['p s is missing']);
  expect(missingIn([{ pk: { S: 'p' }, sk: { S: 's' }, status: { N: '1' } }], [frozen])).toEqual([
    'p s status is of type N instead of S',
    'p s status is undefined instead of open',
    'p s list is missing',
  ]);
  const other = { ...frozen, status: { S: 'shut' }, list: { L: [{ S: '1' }] }, more: { S: '' } };
  expect(missingIn([other], [frozen])).toEqual([
    'p s status is shut instead of open',
    'p s list[0] is of type S instead of N',
  ]);
});
