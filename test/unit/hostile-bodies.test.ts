import { afterEach, describe, expect, it, vi } from 'vitest';
import { hasBody, longBody, noBody, type Route, shortBody } from '#contract/routes/route.ts';
import { routes } from '#contract/routes.ts';
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
const filled = (bytes: number, start: string, repeated: string, end: string): string =>
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

afterEach(() => vi.restoreAllMocks());

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

it('a hostile body costs no more processor time than three plain ones of its size', async () => {
  const route = routes['create-batch'];
  const plain = JSON.stringify({ more: 'x'.repeat(6 * megabyte - 11) });
  const timeOf = async (body: string) => {
    const times: number[] = [];
    for (let run = 0; run < 5; run += 1) {
      const before = process.cpuUsage();
      await messageOf(route, body);
      const { user, system } = process.cpuUsage(before);
      times.push(user + system);
    }
    return Math.min(...times);
  };
  const most = 3 * (await timeOf(plain));
  for (const [what, ...text] of kinds)
    expect(await timeOf(filled(6 * megabyte, ...text)), what).toBeLessThan(most);
});
