import { beforeEach, describe, expect, it } from 'vitest';
import { dynamoReplyEventStore } from '#adapters/dynamo/chats/reply-event-store.ts';
import type { Item, Table } from '#adapters/dynamo/table/table.ts';
import { endOfStream, eventOf, eventText } from '#contract/events.ts';
import { type Chat, newLeaseId, responseIdOf } from '#domain/chats/chat.ts';
import { followReply, recordEvents, repeatedStream, resumeReply } from '#domain/chats/reply-stream.ts';
import type { ReplyEventStore, ReplyName, StoredEvents } from '#domain/chats/services.ts';
import { closeAbandonedTurn } from '#domain/chats/turn.ts';
import { watchEnd } from '#support/manual-clock.ts';
import { type MemoryChat, openMemoryChat } from '#support/memory-chat.ts';
import { replyMessage, userMessage } from '#support/messages.ts';
import { usageOfCall } from '#support/scripted-runtime.ts';
import { seededRandom } from '#support/seeded-random.ts';

let memory: MemoryChat;
let chat: Chat;
let reply: ReplyName;
const leaseId = newLeaseId('1', { resumable: true });
beforeEach(async () => {
  memory = await openMemoryChat();
  chat = await memory.createChat();
  reply = { workspaceId: chat.workspaceId, chatId: chat.id, responseId: responseIdOf({ id: leaseId }) };
});

const interrupted = { code: 10005, message: 'The reply was interrupted' };
const common = { response_id: 'resp_r-1', chat_id: 1, sequence_number: 0 };
const delta = (text: string, sequence_number: number): string =>
  eventText({ ...{ type: 'response.output_text.delta', delta: text }, ...common, ...{ sequence_number } });

/** The chat has the lease of the reply for the given time. */
async function lease(milliseconds: number): Promise<void> {
  const until = memory.clock.now().getTime() + milliseconds;
  await memory.services.chats.takeOverLease(await memory.read(chat), { id: leaseId, until });
}
const release = async () =>
  void (await memory.services.chats.releaseLease(await memory.read(chat), leaseId, chat.messageCount));
const append = (first: number, texts: string[], isLast = false) =>
  memory.services.replyEvents.append(reply, { first, texts, isLast }, memory.clock.now());

describe('the recorder of a reply', () => {
  const word = { type: 'response.output_text.delta', delta: 'word' } as const;

  /** A store whose writes the test ends. */
  function pausedStore() {
    const writes: { events: StoredEvents; end: () => void; fail: (error: Error) => void }[] = [];
    const replyEvents: ReplyEventStore = {
      ...memory.services.replyEvents,
      append: (_reply, events) => {
        const { promise, resolve, reject } = Promise.withResolvers<void>();
        writes.push({ events: structuredClone(events), end: resolve, fail: reject });
        return promise;
      },
    };
    return { writes, recorder: recordEvents({ ...memory.services, replyEvents }, reply) };
  }

  it('stores the first event at once, the others once a second, and the last ones at the end', async () => {
    const { writes, recorder } = pausedStore();
    recorder.add(word, 'zero');
    recorder.add(word, 'one');
    expect(writes.map(({ events }) => events)).toEqual([{ first: 0, texts: ['zero'], isLast: false }]);
    writes[0]?.end();
    await memory.clock.advance(999);
    recorder.add(word, 'two');
    expect(writes).toHaveLength(1);
    await memory.clock.advance(1);
    expect(writes[1]?.events).toEqual({ first: 1, texts: ['one', 'two'], isLast: false });
    writes[1]?.end();
    // Without new events nothing is stored.
    await memory.clock.advance(5000);
    expect(writes).toHaveLength(2);
    recorder.add(word, 'three');
    const finished = recorder.finish();
    await memory.clock.advance(0);
    expect(writes[2]?.events).toEqual({ first: 3, texts: ['three'], isLast: true });
    writes[2]?.end();
    await finished;
    await memory.clock.advance(5000);
    expect(writes).toHaveLength(3);
  });

  it('stores an end without events', async () => {
    const { writes, recorder } = pausedStore();
    recorder.add(word, 'zero');
    writes[0]?.end();
    await memory.clock.advance(0);
    const finished = recorder.finish();
    await memory.clock.advance(0);
    expect(writes[1]?.events).toEqual({ first: 1, texts: [], isLast: true });
    writes[1]?.end();
    await finished;
  });

  it('leaves the whole text out at the end if the deltas have it', async () => {
    const { writes, recorder } = pausedStore();
    recorder.add(word, 'zero');
    writes[0]?.end();
    await memory.clock.advance(0);
    const end = { type: 'response.output_text.completed', message_id: 2, usage: usageOfCall } as const;
    const said = eventText({ ...end, ...common, ...{ final_text: word.delta } });
    recorder.add({ ...end, final_text: word.delta }, said);
    void recorder.finish();
    await memory.clock.advance(0);
    expect(writes[1]?.events.texts).toEqual([eventText({ ...end, ...common, ...{ final_text: '' } })]);
  });

  it('stores events in order: a write waits for the one before it, and the end for both', async () => {
    const { writes, recorder } = pausedStore();
    recorder.add(word, 'zero');
    recorder.add(word, 'one');
    await memory.clock.advance(10_000);
    expect(writes).toHaveLength(1);
    const finished = recorder.finish();
    await memory.clock.advance(10_000);
    expect(writes).toHaveLength(1);
    writes[0]?.end();
    await memory.clock.advance(0);
    expect(writes[1]?.events).toEqual({ first: 1, texts: ['one'], isLast: true });
    writes[1]?.end();
    await finished;
  });

  it('stores the same events again after a failure, and then those that came since', async () => {
    const { writes, recorder } = pausedStore();
    recorder.add(word, 'zero');
    writes[0]?.fail(new Error('No table'));
    recorder.add(word, 'one');
    await memory.clock.advance(0);
    await memory.clock.advance(1000);
    expect(writes[1]?.events).toEqual(writes[0]?.events);
    writes[1]?.fail(new Error('No table'));
    await memory.clock.advance(0);
    const finished = recorder.finish();
    for (let write = 2; write < 5; write += 1) {
      await memory.clock.advance(0);
      if (write === 2) writes[write]?.fail(new Error('No table'));
      else writes[write]?.end();
    }
    await finished;
    expect(writes.slice(2).map(({ events }) => events)).toEqual([
      { first: 0, texts: ['zero'], isLast: false },
      { first: 0, texts: ['zero'], isLast: false },
      { first: 1, texts: ['one'], isLast: true },
    ]);
    expect(memory.logged).toEqual(Array(3).fill('warn: Events of a resumable reply were not stored'));
  });

  it('says when the first write has ended, whether or not it has succeeded', async () => {
    const { writes, recorder } = pausedStore();
    await recorder.started();
    recorder.add(word, 'zero');
    const started = recorder.started();
    const start = watchEnd(started);
    await memory.clock.advance(999);
    expect(start.isReached).toBe(false);
    writes[0]?.fail(new Error('No table'));
    await started;
  });

  it('ends after three failures', async () => {
    const { writes, recorder } = pausedStore();
    recorder.add(word, 'zero');
    const finished = recorder.finish();
    for (let write = 0; write < 4; write += 1) {
      writes[write]?.fail(new Error('No table'));
      await memory.clock.advance(0);
    }
    await finished;
    expect(writes).toHaveLength(4);
  });
});

describe('a client that comes back at the end of a short reply', () => {
  const resume = (services = memory.services) =>
    resumeReply(services, { ...reply, externalUserId: undefined, startingAfter: 0 });

  it('finds the turn in progress until the first event is stored', async () => {
    const input = memory.inputOf(chat, 'Hi', { resumable: true });
    const running = await memory.start(input);
    reply = { ...reply, responseId: responseIdOf(running.turn.chat.lease) };
    const firstWrite = Promise.withResolvers<void>();
    const finished = memory.finish(running, {}, () => firstWrite.promise);
    await running.running.completed;
    await memory.clock.advance(0);
    expect(await memory.contents(chat)).toEqual(['Hi']);
    await resume();
    firstWrite.resolve();
    await finished;
    await expect(resume()).rejects.toThrow('No stream to resume');
    await append(0, ['0']);
    await resume();
  });

  it('finds its events if they are stored while the chat is read', async () => {
    await lease(60_000);
    const { chats } = memory.services;
    const get: typeof chats.get = async (...id) => {
      await memory.clock.advance(0);
      await append(0, ['0'], true);
      await release();
      return chats.get(...id);
    };
    await resume({ ...memory.services, chats: { ...chats, get } });
  });
});

describe('a follower of a reply', () => {
  const follow = (startingAfter = -1) => {
    const texts: string[] = [];
    const following = (async () => {
      for await (const text of followReply(memory.services, reply, startingAfter))
        if (text !== '') texts.push(text);
    })();
    return { texts, following };
  };
  const errorAfter = (sequenceNumber: number) => ({
    ...{ type: 'response.error', ...interrupted },
    ...{ response_id: reply.responseId, chat_id: chat.id, sequence_number: sequenceNumber },
  });

  it('reads twice a second, and ends with the reply', async () => {
    await lease(60_000);
    await append(0, ['0']);
    const { texts, following } = follow();
    await memory.clock.advance(0);
    await memory.clock.advance(499);
    await append(1, ['1', '2']);
    expect(texts).toEqual(['0']);
    await memory.clock.advance(1);
    expect(texts).toEqual(['0', '12']);
    await append(3, [], true);
    await memory.clock.advance(500);
    await following;
    expect(texts).toEqual(['0', '12', endOfStream]);
  });

  it('gets what is after its last event, also if that is in the middle of stored events, or not stored yet', async () => {
    await lease(60_000);
    await append(0, ['0']);
    await append(1, ['1', '2', '3']);
    const [middle, ahead] = [follow(2), follow(5)];
    await memory.clock.advance(0);
    expect([middle.texts, ahead.texts]).toEqual([['3'], []]);
    await append(4, ['4', '5', '6'], true);
    await memory.clock.advance(500);
    await Promise.all([middle.following, ahead.following]);
    expect([middle.texts, ahead.texts]).toEqual([
      ['3', '456', endOfStream],
      ['6', endOfStream],
    ]);
  });

  it('of a complete reply gets its end, and reads no lease', async () => {
    await append(0, ['0']);
    await append(1, ['1'], true);
    const { texts, following } = follow(1);
    await following;
    expect(texts).toEqual([endOfStream]);
  });

  it('of a complete reply that names an event beyond the last one gets the end, and no error', async () => {
    await append(0, ['0']);
    await append(1, ['1'], true);
    const { texts, following } = follow(9);
    await memory.clock.advance(0);
    for (let second = 0; second < 7; second += 1) await memory.clock.advance(1000);
    await following;
    expect(texts).toEqual([endOfStream]);
  });

  it.each([
    ['after what is stored', -1, 2],
    ['after what it has', 7, 8],
  ])('of a dead function gets an error within 2 s of its lease, number %s', async (_where, after, number) => {
    await lease(30_000);
    await append(0, ['0', '1']);
    const { texts, following } = follow(after);
    await memory.clock.advance(29_999);
    expect(texts.join('')).not.toContain('error');
    await memory.clock.advance(2001);
    await following;
    const end = texts.at(-1) ?? '';
    expect(eventOf(end.replace(endOfStream, ''))).toEqual(errorAfter(number));
    expect(end.endsWith(endOfStream)).toBe(true);
  });

  it('gets events that were stored just before the lease ended', async () => {
    await lease(600);
    await append(0, ['0']);
    const { texts, following } = follow();
    await memory.clock.advance(999);
    await append(1, ['1'], true);
    await memory.clock.advance(1001);
    await following;
    expect(texts).toEqual(['0', '1', endOfStream]);
  });

  it('waits five seconds for the last events when the lease is released, or another reply has it', async () => {
    await lease(60_000);
    await append(0, ['0']);
    const [complete, broken] = [follow(), follow()];
    await memory.clock.advance(0);
    await release();
    await memory.clock.advance(4000);
    expect(complete.texts).toEqual(['0']);
    await append(1, ['1'], true);
    await memory.clock.advance(500);
    await Promise.all([complete.following, broken.following]);
    expect(complete.texts).toEqual(['0', '1', endOfStream]);

    reply = { ...reply, responseId: responseIdOf({ id: newLeaseId('dead', { resumable: true }) }) };
    await append(0, ['0']);
    const dead = follow();
    await memory.clock.advance(0);
    await memory.clock.advance(5000);
    expect(dead.texts).toEqual(['0']);
    await memory.clock.advance(1000);
    await dead.following;
    expect(dead.texts).toHaveLength(2);
  });
});

it('a repeated send gets the rest of a stored reply whose function died before it stored the last events', async () => {
  await append(0, [eventText({ ...eventOf(delta('', 0)), ...{ type: 'response.created' } } as never)]);
  await append(1, [delta('One', 1)]);
  const stored = replyMessage(2, 'One, two', { responseId: reply.responseId });
  const repeated = { reply: stored, agent: undefined };
  const collected = Array.fromAsync(repeatedStream(memory.services, repeated, { ...chat, chatId: chat.id }));
  for (let second = 0; second < 7; second += 1) await memory.clock.advance(1000);
  const texts = (await collected).join('').split(/(?<=\n\n)/);
  expect(texts.pop()).toBe(endOfStream);
  const [, , rest, end] = texts.map(eventOf);
  expect(rest).toMatchObject({ type: 'response.output_text.delta', delta: ', two', sequence_number: 2 });
  expect(end).toMatchObject({
    ...{ type: 'response.output_text.completed', final_text: 'One, two', sequence_number: 3 },
  });
});

describe('whoever closes a turn of a function that died', () => {
  const close = async (reason?: string) => {
    await closeAbandonedTurn(memory.services, await memory.read(chat), reason);
    return (await memory.history(chat))[1];
  };
  beforeEach(async () => {
    await memory.services.messages.put(chat, userMessage(1));
    await append(0, [delta('One', 0)]);
    await append(1, [delta(', two', 1), delta(' 😀', 2)]);
  });

  it('takes its stored text into the history', async () => {
    await lease(-1);
    expect(await close()).toMatchObject({
      ...{ content: 'One, two 😀', error: interrupted, incomplete: null },
      responseId: reply.responseId,
    });
    expect(await memory.read(chat)).toMatchObject({ lease: null, messageCount: 2 });
  });

  it('takes it also if the reply was to be stopped, and then writes no error', async () => {
    await lease(60_000);
    await memory.services.chats.stopLease(chat, leaseId, memory.clock.now().getTime() - 1);
    expect(await close()).toMatchObject({ content: 'One, two 😀', error: null, incomplete: 'stopped' });
  });

  it('writes no text that could not be stored', async () => {
    await lease(-1);
    expect(await close('The reply could not be stored')).toMatchObject({ content: '' });
  });

  it('reads no events of a reply that is not resumable', async () => {
    const eventsFrom = () => {
      throw new Error('Events were read');
    };
    const services = { ...memory.services, replyEvents: { ...memory.services.replyEvents, eventsFrom } };
    await memory.services.chats.takeOverLease(chat, { id: 'plain', until: 0 });
    await closeAbandonedTurn(services, await memory.read(chat));
    expect((await memory.history(chat))[1]).toMatchObject({ content: '', error: interrupted });
  });
});

it('the sixty deltas of a second take one write unit', async () => {
  const items: Item[] = [];
  const put = async ({ Item }: { Item: object }) => void items.push(Item as Item);
  const { append: store } = dynamoReplyEventStore({ put } as Partial<Table> as Table);
  const uuid = '01a21081-a2b3-70d4-a703-80ba0f769275';
  const name = { workspaceId: `ws_${uuid}`, chatId: 4_000_000, responseId: `resp_r-${uuid}` };
  // Letters without a pattern, so that they compress no better than the words of a model.
  const random = seededRandom(1);
  const letter = () => 'eeeetttaaooiinnsshhrrdlcumwfgypbvk'[Math.floor(random() * 34)];
  const first = 3541;
  const texts = Array.from({ length: 60 }, (_, index) => {
    const word = `${letter()}${letter()}${letter()} `;
    return delta(word, first + index);
  });
  await store(name, { first, texts, isLast: false }, memory.clock.now());
  expect(items).toHaveLength(1);
  const sizes = Object.entries(items[0] ?? {}).map(
    ([key, value]) => key.length + (value instanceof Uint8Array ? value.length : String(value).length),
  );
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(1024);
});
