import { promisify } from 'node:util';
import { deflateRaw, inflateRaw } from 'node:zlib';
import { keys } from '#adapters/dynamo/table/keys.ts';
import { type Item, type Table, where } from '#adapters/dynamo/table/table.ts';
import { limits } from '#contract/limits.ts';
import type { ReplyEventStore, ReplyName, StoredEvents } from '#domain/chats/services.ts';

const deflate = promisify(deflateRaw);
const inflate = promisify(inflateRaw);

/** Compressed. An item has at most 400 KB, with its key. */
const bytesPerItem = 350_000;

/** In seconds since 1970, as DynamoDB's TTL needs it. */
const expiryOf = (now: Date): number => Math.ceil(now.getTime() / 1000) + limits.resumableMinutes * 60;

export const dynamoReplyEventStore = (table: Table): ReplyEventStore => ({
  async append(reply, { first, texts, isLast }, now) {
    const bytes = await deflate(texts.join(''));
    // The end of a reply may be appended without events. It then has the next number.
    const last = first + Math.max(texts.length, 1) - 1;
    const count = Math.max(1, Math.ceil(bytes.length / bytesPerItem));
    for (let part = 0; part < count; part += 1)
      await table.put({
        Item: {
          ...keys.replyEvents(reply.workspaceId, reply.chatId, reply.responseId, last, part),
          first,
          events: binary(bytes.subarray(part * bytesPerItem, (part + 1) * bytesPerItem)),
          ...(isLast && { done: true }),
          ...(part < count - 1 && { more: true }),
          ttl: expiryOf(now),
        },
      });
  },

  async hasReply(reply, now) {
    const item = await table.get(keys.replyEvents(reply.workspaceId, reply.chatId, reply.responseId, 0, 0));
    // DynamoDB's TTL may delete an expired item days later.
    return item !== undefined && (item.ttl as number) > now.getTime() / 1000;
  },

  async *eventsFrom(reply, sequenceNumber) {
    let parts: Item[] = [];
    for await (const page of pagesFrom(table, reply, sequenceNumber))
      for (const item of page) {
        parts.push(item);
        // If the other parts are not stored yet, a later call reads all parts.
        if (item.more === true) continue;
        yield await eventsOf(parts);
        parts = [];
      }
  },
});

const pagesFrom = (table: Table, { workspaceId, chatId, responseId }: ReplyName, sequenceNumber: number) =>
  table.queryPages(where('sk >= :sk', keys.replyEvents(workspaceId, chatId, responseId, sequenceNumber, 0)));

async function eventsOf(parts: readonly Item[]): Promise<StoredEvents> {
  const bytes = Buffer.concat(parts.map(({ events }) => bytesOf(events)));
  const text = String(await inflate(bytes));
  const [item] = parts as [Item];
  // Each event ends with the only blank line that it contains.
  return {
    first: item.first as number,
    texts: text === '' ? [] : text.split(/(?<=\n\n)/),
    isLast: item.done === true,
  };
}

/** `ItemProtocol` writes values with `JSON.stringify`, and bytes must be base64 on the wire. */
const binary = (bytes: Buffer): Buffer =>
  Object.defineProperty(Buffer.from(bytes), 'toJSON', { value: () => bytes.toString('base64') });

const bytesOf = (value: unknown): Buffer =>
  typeof value === 'string' ? Buffer.from(value, 'base64') : Buffer.from(value as Uint8Array);
