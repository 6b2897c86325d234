import type { IncomingMessage } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib';
import { OutboundFailure } from '#domain/platform/outbound-failure.ts';

export interface ReadBody {
  body: Buffer;
  /** There was more. */
  isCut: boolean;
}

/**
 * A response's body, decompressed; no more of it is read, decompressed or held than asked for.
 * @throws OutboundFailure when its coding is unknown; whatever the connection or the decompression throws
 */
export async function readBody(response: IncomingMessage, maxBytes: number): Promise<ReadBody> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of decoded(response) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    chunks.push(chunk);
    // Leaving the loop ends the connection.
    if (bytes > maxBytes) return { body: Buffer.concat(chunks, maxBytes), isCut: true };
  }
  return { body: Buffer.concat(chunks, bytes), isCut: false };
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
  throw new OutboundFailure('broken', 'The answer is compressed in a way that was not asked for');
}

/** The name means zlib's format; some servers send the bare one. The first byte tells. */
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

/** A failure on either side shows where the result is read. */
const through = (source: Readable, decoder: NodeJS.ReadWriteStream): AsyncIterable<unknown> =>
  pipeline(source, decoder, () => undefined) as unknown as AsyncIterable<unknown>;
