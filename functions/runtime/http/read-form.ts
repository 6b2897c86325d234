import { EventEmitter, on } from 'node:events';
import { finished, type Readable } from 'node:stream';
import { Dicer } from '@fastify/busboy';
import { parse as parseDisposition } from 'content-disposition';
import { parse as parseType } from 'content-type';
import { ServiceError } from '#contract/errors.ts';
import { limits } from '#contract/limits.ts';
import { uploadFailures } from '#contract/upload.ts';
import type { UploadPart } from '#domain/files/files.ts';
import { readUtf8 } from './request.ts';

/** The longest boundary. RFC 2046 allows 70 characters; the parser throws an Error for more than 252 bytes. */
const boundaryCharacters = 250;

type PartHeaders = Readonly<Record<string, string[] | undefined>>;

/** A chunk of 64 KB may have thousands of parts, so the parser must stop within it when a listener throws. */
class FormParser extends Dicer {
  override _write(...[bytes, encoding, done]: Parameters<Dicer['_write']>): void {
    try {
      super._write(bytes, encoding, done);
    } catch (error) {
      done(error as Error);
    }
  }
}

/**
 * Also after an error or an early return, the rest of the body is read within the limits of an upload: some clients do
 * not read the response before they have sent everything.
 * @throws badRequest, even while a part is read; Error if the client disconnects
 */
export async function* readForm(
  contentType: string | undefined,
  body: Readable,
): AsyncGenerator<UploadPart, void, undefined> {
  const ended = readToEnd(body);
  // `readToEnd` has started the flow. Pause it until the parser is connected.
  body.pause();
  try {
    const dicer = new FormParser({
      boundary: boundaryOf(contentType),
      // The parser silently drops what is beyond its limits, so they must not be below the limits of a form.
      maxHeaderSize: limits.partHeaderBytes + 1,
      maxHeaderPairs: limits.partHeaderBytes,
    } as ConstructorParameters<typeof Dicer>[0]);
    const count = partCounter();
    const arrivals = new EventEmitter();
    const open = new Set<Readable>();
    let failure: Error | undefined;
    let isCutOff = false;
    const fail = (error: Error) => {
      failure ??= error;
      for (const stream of open) stream.destroy(failure);
      arrivals.emit('failed');
    };
    dicer.on('part', (stream) => {
      count.part();
      // A part that is cut off emits an error, which would end the process without this listener.
      stream.on('error', () => {});
      stream.on('header', (headers) => {
        count.headers(headers as PartHeaders);
        open.add(stream);
        stream.once('close', () => open.delete(stream));
        arrivals.emit('part', headers, stream);
      });
    });
    // The received parts are still read first, so that the error does not depend on the chunks of the body.
    dicer.on('error', (error) => {
      isCutOff = true;
      failure ??= error instanceof ServiceError ? error : malformed('it ends before its last boundary');
      arrivals.emit('end');
    });
    dicer.on('finish', () => arrivals.emit('end'));
    ended.catch(fail);

    const parts = on(arrivals, 'part', { close: ['end', 'failed'] });
    body.pipe(dicer);
    for await (const [headers, stream] of parts as AsyncIterable<[PartHeaders, Readable]>) {
      const { name, filename } = dispositionOf(headers);
      const content = readPart(stream, () => isCutOff);
      if (name === 'file') yield { kind: 'file', name: filename, contentType: typeOf(headers), content };
      else if (name === 'data') yield { kind: 'data', text: await readText(content) };
      else for await (const _skipped of content);
    }
    if (failure !== undefined) throw failure;
  } finally {
    // A parser with an unread part would block the body.
    body.unpipe();
    body.resume();
    await ended.catch(() => {});
  }
}

function partCounter() {
  let parts = 0;
  let bytes = 0;
  return {
    part() {
      parts += 1;
      if (parts > limits.uploadParts) throw malformed(`it has more than ${limits.uploadParts} parts`);
    },
    headers(headers: PartHeaders) {
      for (const [name, values = []] of Object.entries(headers))
        for (const value of values) bytes += `${name}: ${value}\r\n`.length;
      if (bytes > limits.partHeaderBytes)
        throw malformed(`the headers of its parts have more than ${limits.partHeaderBytes} bytes`);
    },
  };
}

/**
 * A slower upload would occupy a slot for too long. A minute at whose end the body is paused, for example while data is
 * stored, does not count.
 */
const progress = { milliseconds: 60_000, bytes: limits.uploadBytesPerMinute };

const endings = new WeakMap<Readable, Promise<void>>();

/**
 * It keeps no bytes: who needs them attaches a listener at once, or pauses the body.
 * @throws Error if the client disconnects; badRequest if the body is too long or arrives too slowly
 */
export function readToEnd(body: Readable): Promise<void> {
  const existing = endings.get(body);
  if (existing !== undefined) return existing;
  const ending = new Promise<void>((resolve, reject) => {
    let bytes = 0;
    let counted = 0;
    const check = setInterval(() => {
      if (bytes - counted < progress.bytes && !body.isPaused())
        reject(new ServiceError('badRequest', uploadFailures.tooSlow));
      counted = bytes;
    }, progress.milliseconds);
    body.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > limits.uploadBytes) reject(new ServiceError('badRequest', uploadFailures.tooLarge));
    });
    finished(body, { writable: false }, (error) => {
      clearInterval(check);
      if (error) reject(error);
      else resolve();
    });
  });
  endings.set(body, ending);
  return ending;
}

async function* readPart(
  stream: Readable,
  isCutOff: () => boolean,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    for await (const bytes of stream) yield bytes as Uint8Array;
  } catch (error) {
    if (!isCutOff()) throw error;
  }
}

async function readText(content: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of content) {
    bytes += chunk.length;
    if (bytes <= limits.uploadDataBytes) chunks.push(chunk);
  }
  if (bytes > limits.uploadDataBytes)
    throw new ServiceError('badRequest', `data must be at most ${limits.uploadDataBytes} bytes`);
  const text = readUtf8(Buffer.concat(chunks));
  if (text === undefined) throw new ServiceError('badRequest', 'data is not valid UTF-8');
  return text;
}

const malformed = (problem: string) =>
  new ServiceError('badRequest', `The body is not valid multipart/form-data: ${problem}`);

function boundaryOf(contentType: string | undefined): string {
  const { type, parameters } = parseType(contentType ?? '');
  if (type !== 'multipart/form-data')
    throw new ServiceError('badRequest', 'Content-Type must be multipart/form-data');
  if (!parameters.boundary) throw malformed('Content-Type names no boundary');
  if (!/^[\x20-\x7e]+$/.test(parameters.boundary))
    throw malformed('its boundary has characters outside of ASCII');
  if (parameters.boundary.length > boundaryCharacters)
    throw malformed(`its boundary is longer than ${boundaryCharacters} characters`);
  return parameters.boundary;
}

/** The parser returns each byte as one character, but headers must be UTF-8. */
const headerOf = (headers: PartHeaders, name: string): string | undefined => {
  const [value] = headers[name] ?? [];
  if (value === undefined) return undefined;
  const text = readUtf8(Buffer.from(value, 'latin1'));
  if (text === undefined) throw malformed('a header of a part is not valid UTF-8');
  return text;
};

/**
 * Browsers write a quote as `%22`, which `parseDisposition` decodes. Some clients, such as those in Go, escape a quote
 * and a backslash with a backslash.
 */
const unescaped = (_escaped: string, character: string): string => (character === '"' ? '%22' : character);

function dispositionOf(headers: PartHeaders): { name: string | undefined; filename: string | undefined } {
  const header = headerOf(headers, 'content-disposition') ?? '';
  const { parameters } = parseDisposition(header.replaceAll(/\\(["\\])/g, unescaped), { multipart: true });
  return { name: parameters.name, filename: parameters.filename };
}

const typeOf = (headers: PartHeaders): string | undefined =>
  headerOf(headers, 'content-type')?.trim() || undefined;
