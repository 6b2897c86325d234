import { setTimeout as sleep } from 'node:timers/promises';
import { PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import type { StandardRetryStrategy } from '@smithy/core/retry';
import { limits } from '#contract/limits.ts';
import { readNotices } from '#domain/files/attachments.ts';
import {
  type Preparation,
  type PreparedAttachment,
  type PreparedAttachments,
  preparedImageBytes,
  type StoredFile,
  type TextBounds,
} from '#domain/files/files.ts';
import { OutboundFailure } from '#domain/platform/failures.ts';
import { type OutboundRequest, sendOutbound } from './outbound/send-outbound.ts';
import { bucketObjects, presign } from './s3-objects.ts';

type Read = NonNullable<Awaited<ReturnType<PreparedAttachments['get']>>>;

/**
 * The text is the last field, after its length, so that a reader knows the length first. Objects of an earlier version
 * have the text before `pageOffsets`, and no length.
 */
export function preparedJson(prepared: PreparedAttachment): string {
  if (prepared.type !== 'text') return JSON.stringify(prepared);
  const { type, text, pageOffsets, notices } = prepared;
  return JSON.stringify({ type, characters: text.length, pageOffsets, notices, text });
}

/** A plain slice would keep the whole original text in memory. Lone surrogates are replaced. */
export const startOfText = (text: string, characters: number): string =>
  Buffer.from(text.slice(0, characters)).toString();

/** This cannot occur inside a string: quotation marks are escaped there. */
const textField = '"text":"';

/** In characters, of the fields before or after the text. The offsets of 5,000 pages take up to 45,000. */
const maxFieldCharacters = 200_000;

interface Fields {
  type: 'text';
  characters?: number;
  pageOffsets?: number[];
  notices?: unknown;
}

/**
 * Stops as soon as it has all that the bounds allow: a text may have 20 million characters.
 * @returns the attachment, or only the beginning of a text that is longer than `bounds.whole`
 * @throws Error if it cannot parse the content
 */
export async function readPreparedJson(bytes: AsyncIterable<Uint8Array>, bounds: TextBounds): Promise<Read> {
  const decoder = new TextDecoder();
  let unread = '';
  let fields: Fields | undefined;
  const segments: string[] = [];
  let length = 0;
  let hasEnded = false;
  for await (const chunk of bytes) {
    unread += decoder.decode(chunk, { stream: true });
    if (fields === undefined) ({ fields, rest: unread } = fieldsIn(unread));
    if (fields !== undefined && !hasEnded) {
      const { text, ...after } = textIn(unread);
      ({ rest: unread, hasEnded } = after);
      segments.push(text);
      length += text.length;
    } else if (unread.length > maxFieldCharacters)
      throw new Error('A prepared attachment has an unknown format');
    const isLonger = (fields?.characters ?? 0) > bounds.whole;
    if (length > bounds.whole || (isLonger && length >= bounds.start))
      return startOf(fields, segments, bounds.start);
  }
  if (fields === undefined) {
    const { notices, ...prepared } = JSON.parse(unread) as PreparedAttachment & { notices?: unknown };
    return { ...prepared, ...readNotices(notices) };
  }
  if (!hasEnded) throw new Error('A prepared attachment ended within its text');
  const { pageOffsets = [] }: Fields = { ...fields, ...JSON.parse(`{"type":"text"${unread}`) };
  const text = segments.join('').toWellFormed();
  return { type: 'text', text, pageOffsets, ...readNotices(fields.notices) };
}

function fieldsIn(json: string): { fields: Fields | undefined; rest: string } {
  const end = json.indexOf(textField) + textField.length;
  if (end < textField.length) return { fields: undefined, rest: json };
  return { fields: JSON.parse(`${json.slice(0, end)}"}`) as Fields, rest: json.slice(end) };
}

const startOf = (
  { characters, notices }: Partial<Fields> = {},
  segments: readonly string[],
  length: number,
): Read => ({
  type: 'beginning',
  text: startOfText(segments.join(''), length),
  ...(characters !== undefined && { characters }),
  ...readNotices(notices),
});

function textIn(json: string): { text: string; rest: string; hasEnded: boolean } {
  const special = /["\\]/g;
  for (let match = special.exec(json); match !== null; match = special.exec(json)) {
    const { index } = match;
    if (match[0] === '"')
      return { text: unescaped(json.slice(0, index)), rest: json.slice(index + 1), hasEnded: true };
    const end = index + (json[index + 1] === 'u' ? 6 : 2);
    if (end > json.length)
      return { text: unescaped(json.slice(0, index)), rest: json.slice(index), hasEnded: false };
    special.lastIndex = end;
  }
  return { text: unescaped(json), rest: '', hasEnded: false };
}

const unescaped = (json: string): string => JSON.parse(`"${json}"`) as string;

type Kind = 'content.json' | 'image';

/** The prefix names the scope, so that a lifecycle rule can remove the content prepared from ephemeral files. */
const keyOf = (
  { scope, workspaceId, uuid }: Pick<StoredFile, 'scope' | 'workspaceId' | 'uuid'>,
  kind: Kind,
): string => `attachments/${scope}/${workspaceId}/${uuid}/${kind}`;

export function s3PreparedAttachments(client: S3Client, Bucket: string): PreparedAttachments {
  const objects = bucketObjects(client, Bucket);
  return {
    async get(file, bounds, signal) {
      const body = (await objects.get(keyOf(file, 'content.json'), signal))?.Body;
      // If the parser stops early, the connection closes and the rest is not transferred.
      return body && readPreparedJson(body as unknown as AsyncIterable<Uint8Array>, bounds);
    },
    put: (file, prepared) =>
      objects.put(keyOf(file, 'content.json'), preparedJson(prepared), 'application/json'),
    async getImage(file) {
      const image = await objects.get(keyOf(file, 'image'));
      if (image?.Body === undefined) throw new Error('A prepared image is missing');
      // A hostile file may control the function that has written the image.
      if ((image.ContentLength ?? 0) > preparedImageBytes) throw new Error('A prepared image is too large');
      return image.Body.transformToByteArray();
    },
    async writeAddresses(file) {
      const addressOf = (kind: Kind) =>
        presign(client, new PutObjectCommand({ Bucket, Key: keyOf(file, kind) }));
      const [content, image] = await Promise.all([addressOf('content.json'), addressOf('image')]);
      return { content, image };
    },
    async delete(file) {
      await Promise.all([keyOf(file, 'content.json'), keyOf(file, 'image')].map(objects.delete));
    },
  };
}

/** In milliseconds. Files and their texts may have several megabytes. */
const times = { response: 30_000, whole: 30_000 };

/** No error contains a presigned address. */
export function presignedPreparation(retries: StandardRetryStrategy): Preparation {
  const put = async (address: string, body: Uint8Array, contentType: string): Promise<void> => {
    const headers = { 'Content-Type': contentType };
    const { status } = await send(retries, {
      method: 'PUT',
      url: new URL(address),
      headers,
      body,
      maxBytes: errorBytes,
    });
    if (status !== 200) throw failureOf('write', status);
  };
  return {
    async readFile({ file }) {
      const maxBytes = limits.fileBytes;
      const { status, body } = await send(retries, { method: 'GET', url: new URL(file), maxBytes });
      // A missing object gives 404 and not 403, because the caller that has signed the address may list the bucket.
      if (status === 404) return undefined;
      if (status !== 200) throw failureOf('read', status);
      return body;
    },
    putContent: ({ content }, prepared) =>
      put(content, Buffer.from(preparedJson(prepared)), 'application/json'),
    putImage: ({ image }, bytes) => put(image, bytes, 'application/octet-stream'),
  };
}

const errorBytes = 64 * 1024;

const failureOf = (what: 'read' | 'write', status: number): Error =>
  new Error(`S3 responded with ${status} to a presigned ${what}`);

async function send(
  retries: StandardRetryStrategy,
  request: Pick<OutboundRequest, 'method' | 'url' | 'headers' | 'body' | 'maxBytes'>,
): Promise<{ status: number; body: Buffer }> {
  let token = await retries.acquireInitialRetryToken('s3');
  for (;;) {
    let failure: Error;
    try {
      const { signal } = new AbortController();
      const response = await sendOutbound({ ...request, rules: undefined, redirects: 0, times, signal });
      if (response.status < 500 && response.status !== 429) return response;
      failure = failureOf(request.method === 'GET' ? 'read' : 'write', response.status);
    } catch (error) {
      if (!(error instanceof OutboundFailure)) throw error;
      failure = error;
    }
    token = await retries.refreshRetryTokenForRetry(token, { errorType: 'TRANSIENT' }).catch(() => {
      throw failure;
    });
    await sleep(token.getRetryDelay());
  }
}
