import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AgentRuntime } from '#domain/chats/agent-runtime.ts';
import { answerTurn } from '#domain/chats/answer-turn.ts';
import { type AskedReply, askForReply } from '#domain/chats/ask-for-reply.ts';
import { beginTurn } from '#domain/chats/begin-turn.ts';
import type { Reply } from '#domain/chats/gather-reply.ts';
import { ReplyBudget } from '#domain/chats/reply-budget.ts';
import type { Turn } from '#domain/chats/turn.ts';
import type { RequestKey } from '#domain/platform/request-key.ts';
import {
  agents,
  chats,
  clock,
  fileIndex,
  messages,
  meter,
  requestKeys,
  usage,
  workspaces,
} from '#runtime/composition/services.ts';
import { identifiers } from '#runtime/environment/identifiers.ts';
import { variables } from '#runtime/environment/variables.ts';
import { clientOf } from '#support/client.ts';
import { createTenant, type Service, startService, type Tenant } from '#support/service.ts';
import { contentsOf, createChat, historyOf } from '#support/turns.ts';

let service: Service;
let tenant: Tenant;
beforeAll(async () => {
  service = await startService();
  process.env[variables.contentBucket] = service.run.outputs.ContentBucketName;
  tenant = await createTenant({ titles: false });
});
afterAll(() => service.close());

const agentRuntime: AgentRuntime = {
  async reply(_request, tell) {
    tell({ type: 'text', text: 'the answer' });
    return { cutShort: null, incomplete: null };
  },
  title: async () => undefined,
};

type TurnServices = Parameters<typeof beginTurn>[0] & Parameters<typeof answerTurn>[0];

const limits = { modelCalls: 50, toolUses: 30, toolsAtOnce: 4, replyBytes: 1_000_000 };

/** The stores of one function, on the real table; a test holds single calls of them back. */
const functionWith = (held: Partial<TurnServices> = {}, lease = 60_000): TurnServices => ({
  agentRuntime,
  agents: agents(),
  chats: chats(),
  clock,
  fileIndex: fileIndex(),
  identifiers,
  log: { info: () => undefined, warn: () => undefined, error: () => undefined },
  messages: messages(),
  meter,
  replySettings: {
    ...{ streamTimeout: 90_000, lease, historyCharacters: 1000, attachedFiles: 10 },
    limits,
  },
  requestKeys: requestKeys(),
  usage: usage(),
  workspaces: workspaces(),
  ...held,
});

async function begin(
  services: TurnServices,
  chatId: number,
  message: string,
  key: RequestKey | null = null,
): Promise<Turn> {
  const input = {
    workspaceId: tenant.workspaceId,
    apiKeyId: tenant.apiKeyId,
    chatId,
    agentId: tenant.agentId,
    message,
    attachedFileUuids: [],
    externalUserId: undefined,
    admitted: Promise.resolve(),
  };
  const begun = await beginTurn(services)(input, key, () => unasked);
  if (!('turn' in begun)) throw new Error('The turn has its reply already');
  return begun.turn;
}

/** Lets the first call wait at a gate, and tells when it has come there. */
function heldBack<Inputs extends unknown[], Value>(call: (...inputs: Inputs) => Promise<Value>) {
  const arrived = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  let isFirst = true;
  return {
    arrived: arrived.promise,
    open: gate.resolve,
    async call(...inputs: Inputs): Promise<Value> {
      if (isFirst) {
        isFirst = false;
        arrived.resolve();
        await gate.promise;
      }
      return call(...inputs);
    },
  };
}

const unheard = { emit: () => undefined, done: () => undefined };
/** Begins a turn alone: what asks the model for its reply may come much later, and from another function. */
const unasked: AskedReply = {
  stop: new AbortController(),
  budget: new ReplyBudget(limits),
  collected: new Promise(() => {}),
  tell: () => undefined,
  giveUp: async () => undefined,
};
async function answer(services: TurnServices, turn: Turn): Promise<Reply> {
  const { reply, settled } = await answerTurn(services)(turn, unheard, askForReply(services)(turn, 60_000));
  await settled;
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

    const look = heldBack(chats().openTurn);
    const slow = begin(functionWith({ chats: { ...chats(), openTurn: look.call } }), chatId, 'from the slow');
    await look.arrived;
    const first = functionWith();
    const turn = await begin(first, chatId, 'from the first');
    look.open();
    await expect(slow).rejects.toThrow(busy);

    expect(await answer(first, turn)).toMatchObject({
      content: 'the answer',
      error: null,
    });
    expect(contentsOf(await historyOf(client, chatId))).toEqual(['from the first', 'the answer']);
  });

  it('is not brought back by a holder whose message comes late', async () => {
    const client = clientOf(service, tenant);
    const chatId = await createChat(client, tenant);
    const put = heldBack(messages().put);
    // Its lease has run out as soon as it is taken.
    const late = begin(
      functionWith({ messages: { ...messages(), put: put.call } }, -1),
      chatId,
      'from the late',
    );
    await put.arrived;
    const first = functionWith();
    const turn = await begin(first, chatId, 'from the first');
    put.open();
    await expect(late).rejects.toThrow(busy);

    expect(await answer(first, turn)).toMatchObject({
      content: 'the answer',
      error: null,
    });
    expect(contentsOf(await historyOf(client, chatId))).toEqual(['from the first', 'the answer']);
  });
});

describe('a send that is made again', () => {
  const keyOf = (hash: string): RequestKey => ({
    workspaceId: tenant.workspaceId,
    hash,
    fingerprint: 'of the send',
    at: Date.now(),
  });

  it('has one turn and one reply when its first function wakes up beside it', async () => {
    const client = clientOf(service, tenant);
    const chatId = await createChat(client, tenant);
    // Its lease has run out as soon as it is taken.
    const first = await begin(functionWith({}, -1), chatId, 'once', keyOf('wakes up'));
    const takeOver = heldBack(chats().takeOverLease);
    const slow = functionWith({ chats: { ...chats(), takeOverLease: takeOver.call } });
    const slower = begin(slow, chatId, 'once', keyOf('wakes up'));
    await takeOver.arrived;
    const second = await begin(functionWith(), chatId, 'once', keyOf('wakes up'));
    takeOver.open();
    await expect(slower).rejects.toThrow(busy);
    expect([second.position, second.message, second.lease.id === first.lease.id]).toEqual([1, 'once', false]);
    await expect(begin(functionWith(), chatId, 'once', keyOf('wakes up'))).rejects.toThrow(busy);

    expect(await answer(functionWith(), first)).toMatchObject({ error: null });
    await answer(functionWith(), second);
    expect(contentsOf(await historyOf(client, chatId))).toEqual(['once', 'the answer']);
    const { workspaceId, apiKeyId } = tenant;
    const again = { workspaceId, apiKeyId, chatId, agentId: tenant.agentId, message: 'once' };
    expect(
      await beginTurn(functionWith())(
        { ...again, attachedFileUuids: [], externalUserId: undefined, admitted: Promise.resolve() },
        keyOf('wakes up'),
        () => unasked,
      ),
    ).toMatchObject({ reply: { content: 'the answer' } });
  });

  it('leaves the chat alone when the other one of two has begun the turn', async () => {
    const client = clientOf(service, tenant);
    const chatId = await createChat(client, tenant);
    const put = heldBack(messages().putWithKey);
    const held = { messages: { ...messages(), putWithKey: put.call } };
    const late = begin(functionWith(held, -1), chatId, 'once', keyOf('two'));
    await put.arrived;
    const first = functionWith();
    const turn = await begin(first, chatId, 'once', keyOf('two'));
    put.open();
    await expect(late).rejects.toThrow(busy);
    await answer(first, turn);
    expect(contentsOf(await historyOf(client, chatId))).toEqual(['once', 'the answer']);
  });
});
