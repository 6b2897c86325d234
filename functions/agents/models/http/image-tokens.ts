import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { isTurnOver } from '../../event-loop-turn.ts';

export type Images = ReadonlyMap<string, Uint8Array>;

/** A multiple of three, so that the base64 of the slices can be joined. */
const sliceBytes = 3 * 64 * 1024;

/**
 * Replaces images by random tokens, which the code that writes the request takes for base64: encoding all images at
 * once would block the event loop. The texts of a call exist before its tokens, so they cannot contain a token.
 */
export function withImageTokens(options: LanguageModelV4CallOptions): {
  options: LanguageModelV4CallOptions;
  images: Images;
} {
  const images = new Map<string, Uint8Array>();
  const prompt = options.prompt.map((message) => {
    if (message.role !== 'user') return message;
    const content = message.content.map((part) => {
      if (part.type !== 'file' || part.data.type !== 'data' || typeof part.data.data === 'string')
        return part;
      const token = randomUUID();
      images.set(token, part.data.data);
      return { ...part, data: { type: 'data' as const, data: token } };
    });
    return { ...message, content };
  });
  return { options: { ...options, prompt }, images };
}

/**
 * Replaces each token by the base64 of its image. The body can be read several times.
 * @throws Error if a token is not in the body
 */
export function withImages(images: Images, init: RequestInit = {}): RequestInit {
  if (images.size === 0) return init;
  const parts = split(String(init.body), images);
  const headers = new Headers(init.headers);
  headers.set('content-length', String(parts.reduce((length, part) => length + lengthOf(part), 0)));
  return { ...init, headers, body: { [Symbol.asyncIterator]: () => chunksOf(parts) } };
}

type BodyPart = string | Uint8Array;

function split(body: string, images: Images): BodyPart[] {
  const found = [...images].map(([token, bytes]) => ({ token, bytes, start: body.indexOf(token) }));
  if (found.some(({ start }) => start === -1)) throw new Error('A request to a model lacks an image');
  const parts: BodyPart[] = [];
  let end = 0;
  for (const { token, bytes, start } of found.sort((one, other) => one.start - other.start)) {
    parts.push(body.slice(end, start), bytes);
    end = start + token.length;
  }
  return [...parts, body.slice(end)];
}

const lengthOf = (part: BodyPart): number =>
  typeof part === 'string' ? Buffer.byteLength(part) : Math.ceil(part.length / 3) * 4;

async function* chunksOf(parts: readonly BodyPart[]): AsyncGenerator<Uint8Array> {
  for (const part of parts)
    if (typeof part === 'string') yield Buffer.from(part);
    else
      for (let start = 0; start < part.length; start += sliceBytes) {
        if (isTurnOver()) await nextTurn();
        yield base64Of(part.subarray(start, start + sliceBytes));
      }
}

const base64Of = ({ buffer, byteOffset, byteLength }: Uint8Array): Uint8Array =>
  Buffer.from(Buffer.from(buffer, byteOffset, byteLength).toString('base64'), 'latin1');
