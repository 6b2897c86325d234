import { Readable } from 'node:stream';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { hasBody, longBody, noBody, type Route, shortBody } from '#contract/routes/route.ts';
import { routes } from '#contract/routes.ts';
import { readForm } from '#runtime/http/read-form.ts';
import { callerOf, type Request, readRequest } from '#runtime/http/request.ts';

const megabyte = 1024 * 1024;

/** Every route that reads a JSON body. */
const jsonRoutes = Object.values<Route>(routes).filter(
  (route) => hasBody(route) && route.body !== noBody && !route.multipart,
);
const largestOf = ({ largestBody = shortBody }: Route) => largestBody;

/** What is repeated, and the two ends of the whole. */
const kinds: [what: string, start: string, repeated: string, end: string][] = [
  ['arrays in arrays', '', '[', ''],
  ['objects in objects', '', '{"a":', ''],
  ['empty arrays', '[', '[],', '[]]'],
  ['empty objects', '[', '{},', '{}]'],
  ['arrays in arrays in an object', '{"b":', '[', ''],
  ['numbers', '[', '0,', '0]'],
  ['empty strings', '[', '"",', '""]'],
  ['valid ids', '[', '"f81d4fae-7dec-11d0-a765-00a0c91e6bf6",', '""]'],
  ['doubled keys', '{', '"a":0,', '"a":0}'],
  ['keys of quotes and brackets', '{', String.raw`"\"[{\\":0,`, '"a":0}'],
];

/** As many repetitions as fit. */
const filled = (bytes: number, start: string, repeated: string, end = ''): string =>
  start + repeated.repeat(Math.floor((bytes - start.length - end.length) / repeated.length)) + end;

function requestOf(route: Route, body: string | Buffer): Request {
  return {
    id: 'request',
    gatewayId: 'request',
    headers: new Map([['content-type', ['application/json']]]),
    query: new Map(),
    parameters: { chat_id: '1', message_id: '1', batch_id: 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6' },
    path: route.path,
    gatewayHost: 'host',
    caller: { workspaceId: 'workspace', apiKeyId: 'key', limits: null, expiresAt: null },
    body: async () => body,
  };
}

function messageOf(route: Route, body: string, asBytes = false): Promise<string> {
  const request = requestOf(route, asBytes ? Buffer.from(body) : body);
  return readRequest(route, request, callerOf(request), async () => undefined).then(
    () => 'accepted',
    (error: Error) => error.message,
  );
}

const namesALimit =
  /^The body has too many (levels: at most 64|values: at most \d+)|^The request body is too large: at most \d+ [KM]B$/;

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const named = (some: readonly Route[]) => some.map((route) => [route.name, route] as const);
/** A route for each limit. */
const routesByLimit = [...new Map(jsonRoutes.map((route) => [largestOf(route), route])).values()];

describe.each(named(routesByLimit))('%s', (_name, route) => {
  it.each(kinds)('names the limit to a body of %s, and builds nothing of it', async (_what, ...text) => {
    const parse = vi.spyOn(JSON, 'parse');
    const fields = Object.keys('shape' in route.body ? (route.body.shape as object) : {});
    const alone = filled(largestOf(route).bytes, ...text);
    const inFields = [...fields, 'unknown'].map((field) => {
      const empty = `{"${field}":}`;
      return `{"${field}":${filled(largestOf(route).bytes - empty.length, ...text)}}`;
    });
    for (const body of [alone, ...inFields]) expect(await messageOf(route, body)).toMatch(namesALimit);
    expect(await messageOf(route, filled(6 * megabyte, ...text))).toMatch(namesALimit);
    expect(parse).not.toHaveBeenCalled();
  });
});

describe.each(named(jsonRoutes))('%s', (_name, route) => {
  it.each([false, true])('takes its most bytes and no more, as bytes: %s', async (asBytes) => {
    const { bytes } = largestOf(route);
    const body = (length: number) => filled(length, '{"more":"', 'x', '"}');
    expect(await messageOf(route, body(bytes), asBytes)).not.toMatch(namesALimit);
    expect(await messageOf(route, body(bytes + 1), asBytes)).toMatch(
      bytes === longBody.bytes ? /at most 6 MB$/ : namesALimit,
    );
  });

  it('counts bytes and not characters', async () => {
    const { bytes } = largestOf(route);
    const body = (count: number) => `{"more":"${'€'.repeat(count)}"}`;
    const most = Math.floor((bytes - body(0).length) / 3);
    expect(await messageOf(route, body(most))).not.toMatch(namesALimit);
    expect(await messageOf(route, body(most + 1))).toMatch(/^The request body is too large/);
  });

  it('takes its most fields and elements, and no more', async () => {
    const { values } = largestOf(route);
    // The object has one field, and the array is the other that counts.
    const body = (count: number) => `{"more":[${Array.from({ length: count }, () => '0').join()}]}`;
    expect(await messageOf(route, body(values - 1))).not.toMatch(namesALimit);
    expect(await messageOf(route, body(values))).toBe(
      `The body has too many values: at most ${values} fields and elements together`,
    );
  });

  it('reads a text that is no JSON once, and one of escaped characters in any field', async () => {
    const parse = vi.spyOn(JSON, 'parse');
    expect(await messageOf(route, '{"a":')).toBe('The body is not valid JSON');
    expect(parse).toHaveBeenCalledTimes(1);
    const fields = Object.keys('shape' in route.body ? (route.body.shape as object) : {});
    for (const field of [...fields, 'unknown'])
      expect(
        await messageOf(route, filled(largestOf(route).bytes, `{"${field}":"`, String.raw`\u0000`, '"}')),
      ).not.toMatch(namesALimit);
    expect(parse).toHaveBeenCalledTimes(1 + fields.length + 1);
  });

  it('takes 64 levels and no more, and no brackets of texts for levels', async () => {
    const body = (levels: number) => `{"more":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;
    expect(await messageOf(route, body(64))).not.toMatch(namesALimit);
    expect(await messageOf(route, body(65))).toBe(
      'The body has too many levels: at most 64 objects and arrays in each other',
    );
    const text = String.raw`{"more":"${'[{,'.repeat(5000)}\\\"${'[{,'.repeat(5000)}\\"}`;
    expect(await messageOf(route, text)).not.toMatch(namesALimit);
  });
});

/** In milliseconds: the shortest of so many runs. */
async function processorTimeOf(work: () => Promise<unknown>, runs: number): Promise<number> {
  const times: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    times.push((user + system) / 1000);
  }
  return Math.min(...times);
}

it('a hostile body costs no more processor time than three plain ones of its size', async () => {
  const route = routes['create-batch'];
  const plain = JSON.stringify({ more: 'x'.repeat(6 * megabyte - 11) });
  const timeOf = (body: string) => processorTimeOf(() => messageOf(route, body), 5);
  const most = 3 * (await timeOf(plain));
  for (const [what, ...text] of kinds)
    expect(await timeOf(filled(6 * megabyte, ...text)), what).toBeLessThan(most);
});

const boundary = 'b';
const contentType = `multipart/form-data; boundary=${boundary}`;
const name = 'Content-Disposition: form-data; name="other"';

const formWith = (start: string, repeated: string, end?: string): Buffer =>
  Buffer.from(filled(8 * megabyte, start, repeated, end));

const plain = formWith(`--b\r\n${name}\r\n\r\n`, `${'x'.repeat(78)}\r\n`, '\r\n--b--\r\n');

const tooManyParts = 'it has more than 8 parts';
const cutOff = 'it ends before its last boundary';
const tooMuchOfHeaders = 'the headers of its parts have more than 16384 bytes';

const hostile: [what: string, body: Buffer, problem: string | undefined][] = [
  ['empty parts', formWith('', '--b\r\n', '--b--\r\n'), tooManyParts],
  ['boundaries alone', formWith('', '\r\n--b'), tooManyParts],
  ['parts without headers', formWith('', '--b\r\n\r\n\r\n'), tooManyParts],
  ['parts of one byte', formWith('', `--b\r\n${name}\r\n\r\nx\r\n`, '--b--\r\n'), tooManyParts],
  [
    'parts of the file',
    formWith('', '--b\r\nContent-Disposition: form-data; name=file\r\n\r\n\r\n'),
    tooManyParts,
  ],
  ['a header without an end', formWith('--b\r\nA: ', 'x'), cutOff],
  ['a long header', formWith('--b\r\nA: ', 'x', '\r\n\r\nx\r\n--b--\r\n'), tooMuchOfHeaders],
  ['many headers', formWith('--b\r\n', 'a:b\r\n', '\r\nx\r\n--b--\r\n'), tooMuchOfHeaders],
  // The parser reads no header after one that is none.
  ['many headers that are none', formWith('--b\r\n', 'a\r\n', '\r\nx\r\n--b--\r\n'), undefined],
  ['half boundaries', formWith(`--b\r\n${name}\r\n\r\n`, '\r\n--', '\r\n--b--\r\n'), undefined],
  ['line breaks', formWith(`--b\r\n${name}\r\n\r\n`, '\r\n', '\r\n--b--\r\n'), undefined],
  ['boundaries after the end', formWith(`--b\r\n${name}\r\n\r\nx\r\n--b--`, '\r\n--b'), undefined],
  ['dashes after a boundary', formWith('--b', '-', '\r\n--b--\r\n'), undefined],
  [
    'a form in a form',
    formWith('--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n', '--c\r\n\r\n', '\r\n--b--'),
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

it('a hostile form names its limit, and costs at most 50 times a plain one of its size', async () => {
  const ofPlain = await processorTimeOf(async () => expect(await problemOf(plain)).toBeUndefined(), 3);
  for (const [what, body, problem] of hostile) {
    const time = await processorTimeOf(async () => expect(await problemOf(body), what).toBe(problem), 3);
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
