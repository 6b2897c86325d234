import { randomBytes, randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import type { ReplyName, StoredEvents } from '#domain/chats/services.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { openStores } from '#support/open-stores.ts';

const { stores, clock } = closeAfterTests(await openStores());
const { replyEvents } = stores;

const newReply = (): ReplyName => ({ workspaceId: `ws_${randomUUID()}`, chatId: 1, responseId: 'resp_1' });
const text = (data: string) => `event: a\ndata: ${data}\n\n`;
const events = (first: number, data: string[], isLast = false): StoredEvents => ({
  first,
  texts: data.map(text),
  isLast,
});
const append = (reply: ReplyName, stored: StoredEvents) => replyEvents.append(reply, stored, clock.now());
const from = (reply: ReplyName, sequenceNumber: number) =>
  Array.fromAsync(replyEvents.eventsFrom(reply, sequenceNumber));

it('events are read as they were stored, in order, from any sequence number on', async () => {
  const reply = newReply();
  const parts = [events(0, ['zero']), events(1, ['one', 'twö 😀', 'three']), events(4, ['four'], true)];
  for (const part of parts) await append(reply, part);
  expect(await from(reply, 0)).toEqual(parts);
  expect(await from(reply, 1)).toEqual(parts.slice(1));
  // The events before the number are in the same item.
  expect(await from(reply, 3)).toEqual(parts.slice(1));
  expect(await from(reply, 4)).toEqual(parts.slice(2));
  expect(await from(reply, 5)).toEqual([]);
});

it('the end of a reply may have no events, and follows the last ones', async () => {
  const reply = newReply();
  const parts = [events(0, ['zero']), events(1, ['one']), events(2, [], true)];
  for (const part of parts) await append(reply, part);
  expect(await from(reply, 0)).toEqual(parts);
  expect(await from(reply, 1)).toEqual(parts.slice(1));
  expect(await from(reply, 2)).toEqual(parts.slice(2));
});

it('sequence numbers are sorted as numbers', async () => {
  const reply = newReply();
  for (const first of [0, 9, 10, 99, 100, 1000]) await append(reply, events(first, [String(first)]));
  expect((await from(reply, 10)).map(({ first }) => first)).toEqual([10, 99, 100, 1000]);
});

it('events that are stored twice are there once', async () => {
  const reply = newReply();
  await append(reply, events(0, ['zero']));
  await append(reply, events(0, ['zero']));
  expect(await from(reply, 0)).toEqual([events(0, ['zero'])]);
});

it('events of more than an item are read as one', async () => {
  const reply = newReply();
  const large = events(1, ['small', randomBytes(4_000_000).toString('base64'), 'small'], true);
  await append(reply, events(0, ['zero']));
  await append(reply, large);
  expect(await from(reply, 1)).toEqual([large]);
  expect(await from(reply, 3)).toEqual([large]);
  expect(await from(reply, 4)).toEqual([]);
});

it('a reply has its events for an hour', async () => {
  const reply = newReply();
  expect(await replyEvents.hasReply(reply, clock.now())).toBe(false);
  await append(reply, events(0, ['zero']));
  expect(await replyEvents.hasReply(reply, clock.now())).toBe(true);
  await clock.advance(3_599_000);
  expect(await replyEvents.hasReply(reply, clock.now())).toBe(true);
  await clock.advance(2_000);
  expect(await replyEvents.hasReply(reply, clock.now())).toBe(false);
});

it('a reply is known by its first event', async () => {
  const reply = newReply();
  await append(reply, events(1, ['one']));
  expect(await replyEvents.hasReply(reply, clock.now())).toBe(false);
});

it('events belong to one reply of one chat of one workspace', async () => {
  const reply = newReply();
  await append(reply, events(0, ['zero']));
  for (const other of [
    { ...reply, responseId: 'resp_2' },
    { ...reply, chatId: 2 },
    { ...reply, workspaceId: 'ws_other' },
  ]) {
    expect(await from(other, 0)).toEqual([]);
    expect(await replyEvents.hasReply(other, clock.now())).toBe(false);
  }
});
