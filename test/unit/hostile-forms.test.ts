import { Readable } from 'node:stream';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { readForm } from '#runtime/http/read-form.ts';

const megabyte = 1024 * 1024;
const size = 8 * megabyte;
const boundary = 'b';
const contentType = `multipart/form-data; boundary=${boundary}`;
const name = 'Content-Disposition: form-data; name="other"';

const filled = (start: string, repeated: string, end = ''): Buffer =>
  Buffer.from(
    start + repeated.repeat(Math.floor((size - start.length - end.length) / repeated.length)) + end,
  );

const plain = filled(`--b\r\n${name}\r\n\r\n`, `${'x'.repeat(78)}\r\n`, '\r\n--b--\r\n');

const tooManyParts = 'it has more than 8 parts';
const cutOff = 'it ends before its last boundary';
const tooMuchOfHeaders = 'the headers of its parts have more than 16384 bytes';

const hostile: [what: string, body: Buffer, problem: string | undefined][] = [
  ['empty parts', filled('', '--b\r\n', '--b--\r\n'), tooManyParts],
  ['boundaries alone', filled('', '\r\n--b'), tooManyParts],
  ['parts without headers', filled('', '--b\r\n\r\n\r\n'), tooManyParts],
  ['parts of one byte', filled('', `--b\r\n${name}\r\n\r\nx\r\n`, '--b--\r\n'), tooManyParts],
  [
    'parts of the file',
    filled('', '--b\r\nContent-Disposition: form-data; name=file\r\n\r\n\r\n'),
    tooManyParts,
  ],
  ['a header without an end', filled('--b\r\nA: ', 'x'), cutOff],
  ['a long header', filled('--b\r\nA: ', 'x', '\r\n\r\nx\r\n--b--\r\n'), tooMuchOfHeaders],
  ['many headers', filled('--b\r\n', 'a:b\r\n', '\r\nx\r\n--b--\r\n'), tooMuchOfHeaders],
  // The parser reads no header after one that is none.
  ['many headers that are none', filled('--b\r\n', 'a\r\n', '\r\nx\r\n--b--\r\n'), undefined],
  ['half boundaries', filled(`--b\r\n${name}\r\n\r\n`, '\r\n--', '\r\n--b--\r\n'), undefined],
  ['line breaks', filled(`--b\r\n${name}\r\n\r\n`, '\r\n', '\r\n--b--\r\n'), undefined],
  ['boundaries after the end', filled(`--b\r\n${name}\r\n\r\nx\r\n--b--`, '\r\n--b'), undefined],
  ['dashes after a boundary', filled('--b', '-', '\r\n--b--\r\n'), undefined],
  [
    'a form in a form',
    filled('--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n', '--c\r\n\r\n', '\r\n--b--'),
    undefined,
  ],
];

/** As it comes from a connection. */
function* inChunks(body: Buffer): Generator<Buffer, void, undefined> {
  for (let start = 0; start < body.length; start += 64 * 1024) yield body.subarray(start, start + 64 * 1024);
}

/** Why a form is rejected. The whole body must have been received. */
async function problemOf(body: Buffer): Promise<string | undefined> {
  const stream = Readable.from(inChunks(body));
  try {
    for await (const part of readForm(contentType, stream))
      if (part.kind === 'file') for await (const _bytes of part.content);
    return undefined;
  } catch (error) {
    return (error as Error).message.replace('The body is not valid multipart/form-data: ', '');
  } finally {
    expect(stream.readableEnded).toBe(true);
  }
}

async function processorTimeOf(work: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let run = 0; run < 3; run += 1) {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    times.push((user + system) / 1000);
  }
  return Math.min(...times);
}

it('a hostile form names its limit, and costs at most 50 times a plain one of its size', async () => {
  const ofPlain = await processorTimeOf(async () => expect(await problemOf(plain)).toBeUndefined());
  for (const [what, body, problem] of hostile) {
    const time = await processorTimeOf(async () => expect(await problemOf(body), what).toBe(problem));
    expect(time / ofPlain, what).toBeLessThan(50);
  }
});

const other = (headers = '') => `--b\r\n${name}\r\n${headers}\r\nx\r\n`;
const formOf = (...parts: string[]) => Buffer.from(`${parts.join('')}--b--\r\n`);

it('a form has at most 8 parts', async () => {
  expect(await problemOf(formOf(...Array(8).fill(other())))).toBeUndefined();
  expect(await problemOf(formOf(...Array(9).fill(other())))).toBe(tooManyParts);
});

it('a form has at most 16 KB of headers in all parts together', async () => {
  const header = (bytes: number) => other(`x: ${'y'.repeat(bytes - 5)}\r\n`);
  const left = 16_384 - 2 * `${name}\r\n`.length;
  expect(await problemOf(formOf(header(5000), header(left - 5000)))).toBeUndefined();
  expect(await problemOf(formOf(header(5000), header(left - 4999)))).toBe(tooMuchOfHeaders);
});

describe('a form that comes slowly', () => {
  afterEach(() => vi.useRealTimers());

  const tooSlow = 'The body comes too slowly (min speed: 60 KB a minute)';
  const start = `--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n`;

  /** What becomes of a form of which so many bytes come each second, and when. */
  async function sent(bytesOfSecond: number, seconds: number): Promise<{ problem: string; after: number }> {
    vi.useFakeTimers();
    const body = new Readable({ read: () => undefined });
    body.push(start);
    let problem: string | undefined;
    const read = (async () => {
      for await (const part of readForm(contentType, body))
        if (part.kind === 'file') for await (const _bytes of part.content);
    })().then(
      () => (problem = 'none'),
      (error: Error) => (problem = error.message),
    );
    let after = 0;
    for (; problem === undefined && after < seconds; after += 1) {
      body.push(Buffer.alloc(bytesOfSecond, 'x'));
      await vi.advanceTimersByTimeAsync(1000);
    }
    if (problem === undefined) {
      body.push('\r\n--b--\r\n');
      body.push(null);
    }
    vi.useRealTimers();
    await read;
    return { problem: problem ?? '', after };
  }

  it.each([0, 1, 1000])('ends after a minute, with %i bytes a second', async (bytes) => {
    expect(await sent(bytes, 1000)).toEqual({ problem: tooSlow, after: 60 });
  });

  it('is read to its end with 1 KB a second', async () => {
    expect(await sent(1024, 300)).toEqual({ problem: 'none', after: 300 });
  });
});
