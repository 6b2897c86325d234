import { PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { readNotices } from '#domain/files/attachments.ts';
import {
  type PreparedAttachment,
  type PreparedAttachments,
  preparedImageBytes,
  type TextBounds,
} from '#domain/files/services.ts';
import type { StoredFile } from '#domain/files/stored-file.ts';
import { bucketObjects, presign } from './s3-objects.ts';

type Read = NonNullable<Awaited<ReturnType<PreparedAttachments['get']>>>;

/**
 * The text is the last field, so that a reader knows its length before it reads it. Objects of an earlier version have
 * the text before the other fields and no length.
 */
export function preparedJson(prepared: PreparedAttachment): string {
  if (prepared.type !== 'text') return JSON.stringify(prepared);
  const { type, text, pageOffsets, notices } = prepared;
  return JSON.stringify({ type, characters: text.length, pageOffsets, notices, text });
}

/**
 * Copies the start of a text. A plain slice would keep the whole original text in memory. Lone surrogates are replaced.
 */
export const startOfText = (text: string, characters: number): string =>
  Buffer.from(text.slice(0, characters)).toString();

/** The text starts after this marker. It cannot occur inside other values: quotation marks are escaped there. */
const textField = '"text":"';

/** Maximum length of the fields before the text, in characters. The offsets of 5,000 pages take about 50,000. */
const maxFieldCharacters = 200_000;

/**
 * Parses what `preparedJson` wrote while it arrives, and stops as soon as the bounds are met: a text may have 20
 * million characters.
 */
export async function readPreparedJson(bytes: AsyncIterable<Uint8Array>, bounds: TextBounds): Promise<Read> {
  const decoder = new TextDecoder();
  const parser = new PreparedParser();
  for await (const chunk of bytes) {
    parser.add(decoder.decode(chunk, { stream: true }));
    if (parser.meets(bounds)) return parser.startOf(bounds.start);
  }
  return parser.end();
}

interface Fields {
  type: 'text';
  characters?: number;
  pageOffsets?: number[];
  notices?: unknown;
}

class PreparedParser {
  /** The fields before the text; undefined until they have arrived, and if the attachment is not a text. */
  private fields: Fields | undefined;
  private readonly segments: string[] = [];
  private length = 0;
  private hasEnded = false;
  private unread = '';

  add(json: string): void {
    this.unread += json;
    this.fields ??= this.takeFields();
    if (this.fields !== undefined && !this.hasEnded) this.takeText();
    else if (this.unread.length > maxFieldCharacters)
      throw new Error('A prepared attachment has an unknown format');
  }

  private takeFields(): Fields | undefined {
    const end = this.unread.indexOf(textField) + textField.length;
    if (end < textField.length) return undefined;
    const fields = JSON.parse(`${this.unread.slice(0, end)}"}`) as Fields;
    this.unread = this.unread.slice(end);
    return fields;
  }

  private takeText(): void {
    const { text, rest, hasEnded } = textIn(this.unread);
    this.unread = rest;
    this.hasEnded = hasEnded;
    this.segments.push(text);
    this.length += text.length;
  }

  /** Whether the text is too long, and its start has arrived. */
  meets({ whole, start }: TextBounds): boolean {
    const characters = this.fields?.characters ?? 0;
    return this.length > whole || (characters > whole && this.length >= start);
  }

  startOf(characters: number): Read {
    const total = this.fields?.characters;
    return {
      type: 'beginning',
      text: startOfText(this.segments.join(''), characters),
      ...(total !== undefined && { characters: total }),
      ...readNotices(this.fields?.notices),
    };
  }

  end(): Read {
    if (this.fields === undefined) {
      const { notices, ...prepared } = JSON.parse(this.unread) as PreparedAttachment & { notices?: unknown };
      return { ...prepared, ...readNotices(notices) };
    }
    if (!this.hasEnded) throw new Error('A prepared attachment ended within its text');
    const rest = JSON.parse(`{"type":"text"${this.unread}`) as Pick<Fields, 'pageOffsets'>;
    const { pageOffsets = [] } = { ...this.fields, ...rest };
    const text = this.segments.join('').toWellFormed();
    return { type: 'text', text, pageOffsets, ...readNotices(this.fields.notices) };
  }
}

/** The text up to its closing quotation mark, or up to the last complete escape sequence. */
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
      // A hostile file may control the function that has written it.
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
