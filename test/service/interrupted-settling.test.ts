import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { AgentRuntime } from '#domain/chats/agent-runtime.ts';
import type { Reply } from '#domain/chats/collect-reply.ts';
import { finishTurn, type StartedTurn, startTurn } from '#domain/chats/send-turn.ts';
import type { IdempotencyKey } from '#domain/platform/idempotency.ts';
import {
  agents,
  chats,
  clock,
  fileIndex,
  idempotency,
  messages,
  meter,
  replyEvents,
  stops,
  usage,
  workspaces,
} from '#runtime/composition/services.ts';
import { identifiers } from '#runtime/environment/invocation-context.ts';
import { variables } from '#runtime/environment/variables.ts';
import { clientOf } from '#support/client.ts';
import { delayedCall, noClient } from '#support/memory-chat.ts';
import { createTenant } from '#support/service.ts';
import { contentsOf, createChat, historyOf } from '#support/turns.ts';
import { useService } from '#support/use-service.ts';

const service = await useService();
process.env[variables.contentBucket] = service.run.outputs.ContentBucketName;
const tenant = await createTenant({ titles: false });

const agentRuntime: AgentRuntime = {
  async reply(_request, forwardTo) {
    forwardTo({ type: 'response.output_text.delta', delta: 'the answer' });
    return { reason: 'stop', cutShort: null, incomplete: null };
  },
  title: async () => undefined,
};

type TurnServices = Parameters<typeof startTurn>[0] & Parameters<typeof finishTurn>[0];

const unlimited = { awaitRateLimit: async () => undefined, deadline: () => 60_000 };

const limits = { modelCalls: 50, toolUses: 30, toolsAtOnce: 4, replyBytes: 1_000_000 };

/** The clock of a function whose leases have ended for others as soon as it takes them. */
const slowClock = { ...clock, now: () => new Date(clock.now().getTime() - 61_000) };

/** The services of one function, on the real table; a test replaces some of them to delay single calls. */
const functionWith = (replaced: Partial<TurnServices> = {}): TurnServices => ({
  agentRuntime,
  agents: agents(),
  chats: chats(),
  clock,
  fileIndex: fileIndex(),
  identifiers,
  log: { info: () => undefined, warn: () => undefined, error: () => undefined },
  messages: messages(),
  meter,
  replyEvents: replyEvents(),
  replySettings: {
    ...{ streamTimeout: 90_000, lease: 60_000, historyCharacters: 1000, attachedFiles: 10 },
    limits,
  },
  stops: stops(),
  idempotency: idempotency(),
  usage: usage(),
  workspaces: workspaces(),
  ...replaced,
});

async function start(
  services: TurnServices,
  chatId: number,
  message: string,
  key: IdempotencyKey | null = null,
): Promise<Extract<StartedTurn, { turn: object }>> {
  const input = {
    workspaceId: tenant.workspaceId,
    apiKeyId: tenant.apiKeyId,
    chatId,
    agentId: tenant.agentId,
    message,
    attachedFileUuids: [],
    externalUserId: undefined,
    resumable: false,
  };
  const started = await startTurn(services, input, { requestId: randomUUID(), key }, unlimited);
  if (!('turn' in started)) throw new Error('The turn has its reply already');
  return started;
}

async function respond(
  services: TurnServices,
  started: Extract<StartedTurn, { turn: object }>,
): Promise<Reply> {
  const { reply, finished } = await finishTurn(services, started, noClient);
  await finished;
  return reply;
}
const busy = 'A reply is already in progress for this chat';

describe('a turn that was given up', () => {
  it('is settled by two senders without touching the turn of the one who was first', async () => {
    const client = clientOf(service, tenant);
    const chatId = await createChat(client, tenant);
    const { workspaceId, agentId } = tenant;
    const dead = { id: 'dead', until: Date.now() - 1 };
    const now = new Date().toISOString();
    await chats().takeLease({ workspaceId, chatId, agentId, externalUserId: undefined, lease: dead, now });

    const check = delayedCall(chats().openTurn);
    const slow = start(
      functionWith({ chats: { ...chats(), openTurn: check.call } }),
      chatId,
      'from the slow',
    );
    await check.arrived;
    const first = functionWith();
    const turn = await start(first, chatId, 'from the first');
    check.open();
    await expect(slow).rejects.toThrow(busy);

    expect(await respond(first, turn)).toMatchObject({
      content: 'the answer',
      error: null,
    });
    expect(contentsOf(await historyOf(client, chatId))).toEqual(['from the first', 'the answer']);
  });

  it('is not brought back by a holder whose message comes late', async () => {
    const client = clientOf(service, tenant);
    const chatId = await createChat(client, tenant);
    const put = delayedCall(messages().put);
    const delayed = start(
      functionWith({ clock: slowClock, messages: { ...messages(), put: put.call } }),
      chatId,
      'from the late',
    );
    await put.arrived;
    const first = functionWith();
    const turn = await start(first, chatId, 'from the first');
    put.open();
    await expect(delayed).rejects.toThrow(busy);

    expect(await respond(first, turn)).toMatchObject({
      content: 'the answer',
      error: null,
    });
    expect(contentsOf(await historyOf(client, chatId))).toEqual(['from the first', 'the answer']);
  });
});

describe('a send that is made again', () => {
  const keyOf = (hash: string): IdempotencyKey => ({
    workspaceId: tenant.workspaceId,
    hash,
    fingerprint: 'of the send',
    at: Date.now(),
  });

  it('has one turn and one reply when its first function wakes up beside it', async () => {
    const client = clientOf(service, tenant);
    const chatId = await createChat(client, tenant);
    const first = await start(functionWith({ clock: slowClock }), chatId, 'once', keyOf('wakes up'));
    const takeOver = delayedCall(chats().takeOverLease);
    const slow = functionWith({ chats: { ...chats(), takeOverLease: takeOver.call } });
    const slower = start(slow, chatId, 'once', keyOf('wakes up'));
    await takeOver.arrived;
    const second = await start(functionWith(), chatId, 'once', keyOf('wakes up'));
    takeOver.open();
    await expect(slower).rejects.toThrow(busy);
    const { position, message, chat } = second.turn;
    expect([position, message, chat.lease.id === first.turn.chat.lease.id]).toEqual([1, 'once', false]);
    await expect(start(functionWith(), chatId, 'once', keyOf('wakes up'))).rejects.toThrow(busy);

    expect(await respond(functionWith(), first)).toMatchObject({ error: null });
    await respond(functionWith(), second);
    expect(contentsOf(await historyOf(client, chatId))).toEqual(['once', 'the answer']);
    const { workspaceId, apiKeyId } = tenant;
    const repeated = { workspaceId, apiKeyId, chatId, agentId: tenant.agentId, message: 'once' };
    expect(
      await startTurn(
        functionWith(),
        { ...repeated, attachedFileUuids: [], externalUserId: undefined, resumable: false },
        { requestId: 'another', key: keyOf('wakes up') },
        unlimited,
      ),
    ).toMatchObject({ reply: { content: 'the answer' } });
  });

  it('leaves the chat alone when the other one of two has begun the turn', async () => {
    const client = clientOf(service, tenant);
    const chatId = await createChat(client, tenant);
    const put = delayedCall(messages().putWithKey);
    const replaced = { messages: { ...messages(), putWithKey: put.call } };
    const delayed = start(functionWith({ ...replaced, clock: slowClock }), chatId, 'once', keyOf('two'));
    await put.arrived;
    const first = functionWith();
    const turn = await start(first, chatId, 'once', keyOf('two'));
    put.open();
    await expect(delayed).rejects.toThrow(busy);
    await respond(first, turn);
    expect(contentsOf(await historyOf(client, chatId))).toEqual(['once', 'the answer']);
  });
});
