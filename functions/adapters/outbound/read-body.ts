import type { IncomingMessage } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib';
import { OutboundFailure } from '#domain/platform/outbound-failure.ts';

export interface ReadBody {
  body: Buffer;
  /** The body was longer than the maximum. */
  isTruncated: boolean;
}

/**
 * Reads and decompresses a response's body, at most `maxBytes` of decompressed data.
 * @throws OutboundFailure `broken` for an unknown content coding; errors of the connection or the decompression
 *   unchanged
 */
export async function readBody(response: IncomingMessage, maxBytes: number): Promise<ReadBody> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of decoded(response) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    chunks.push(chunk);
    // Leaving the loop destroys the connection.
    if (bytes > maxBytes) return { body: Buffer.concat(chunks, maxBytes), isTruncated: true };
  }
  return { body: Buffer.concat(chunks, bytes), isTruncated: false };
}

function decoded(response: IncomingMessage): AsyncIterable<unknown> {
  const coding = response.headers['content-encoding']?.trim().toLowerCase() ?? '';
  switch (coding) {
    case '':
    case 'identity':
      return response;
    case 'gzip':
    case 'x-gzip':
      return through(response, createGunzip());
    case 'br':
      return through(response, createBrotliDecompress());
    case 'deflate':
      return inflated(response);
  }
  throw new OutboundFailure('broken', 'The answer has a compression that is not supported');
}

/** `deflate` means the zlib format, but some servers send raw deflate data. The first byte shows which it is. */
async function* inflated(response: IncomingMessage): AsyncIterable<unknown> {
  const chunks = response[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  const first = await chunks.next();
  if (first.done) return;
  const isZlib = ((first.value[0] ?? 0) & 0x0f) === 8;
  const whole = Readable.from(
    (async function* () {
      yield first.value;
      yield* { [Symbol.asyncIterator]: () => chunks };
    })(),
  );
  yield* through(whole, isZlib ? createInflate() : createInflateRaw());
}

/** An error of the source or the decoder is thrown to the reader of the result. */
const through = (source: Readable, decoder: NodeJS.ReadWriteStream): AsyncIterable<unknown> =>
  pipeline(source, decoder, () => undefined) as unknown as AsyncIterable<unknown>;
