import { describe, expect, it } from 'vitest';
import { ToolFailure } from '#agents/tools/agent-tool.ts';
import { requestOf, resultOf } from '#agents/tools/remote/http-call.ts';
import { fillIn } from '#agents/tools/remote/pinned-tool.ts';
import { httpApiConfig, httpTool } from '#contract/http-api.ts';
import { redactor } from '#domain/tools/tool-secret.ts';
import { agentVersion } from '#support/frozen/entities.ts';

const entry = { base_url: 'https://api.shop.example/v2', headers: { 'X-Tenant': 't-{{workspace_id}}' } };
const any = { description: '', approval: 'never', input_schema: { type: 'object', properties: {} } };

interface Operation {
  path?: string;
  method?: string;
  parameters?: readonly { argument?: string; [field: string]: unknown }[];
  body?: { argument: string; content_type: string; encoding?: object };
  /** Schemas of arguments. */
  properties?: Record<string, object>;
}

const toolOf = ({ properties = {}, ...operation }: Operation) => {
  const taken = [...(operation.parameters ?? []), operation.body].flatMap((part) => part?.argument ?? []);
  const all = { ...Object.fromEntries(taken.map((name) => [name, {}])), ...properties };
  const input_schema = { type: 'object', properties: all };
  const usual = { ...any, name: 'shop_op', method: 'GET', path: '/orders' };
  return httpTool.parse({ ...usual, ...operation, input_schema });
};

const chat = { externalUserId: 'ada/../x@y', id: 7 } as never;
const request = (operation: Operation, args: Record<string, unknown>, withChat = true) =>
  requestOf(entry, toolOf(operation), args, (text, encode) =>
    fillIn(text, { chat: withChat ? chat : null, agents: [agentVersion] } as never, encode),
  );
const urlOf = (...given: Parameters<typeof request>): string =>
  request(...given).url.href.replace('https://api.shop.example/v2', '');

const inQuery = (name: string, more: object = {}) => ({ argument: name, name, in: 'query', ...more });
const inPath = (more: object = {}) => ({ argument: 'id', name: 'id', in: 'path', ...more });
const order = (more: object = {}) => ({ path: '/orders/{id}/lines', parameters: [inPath(more)] });

describe('a value in the path', () => {
  it.each([
    ['a b', 'a%20b'],
    ["é'(*)!~;,", "%C3%A9'(*)!~%3B%2C"],
    ['a?b#c&d=e', 'a%3Fb%23c%26d%3De'],
    ['{id}', '%7Bid%7D'],
    ['...', '...'],
    ['100%', '100%25'],
    [7, '7'],
    [false, 'false'],
    [['a,b', 'c'], 'a%2Cb,c'],
    [{ a: 1, b: 'c' }, 'a,1,b,c'],
  ])('%j is %s', (value, text) => {
    expect(urlOf(order(), { id: value })).toBe(`/orders/${text}/lines`);
  });

  it.each([
    ...['', 'a\nb', 'a\u0000', [''], ['a', '..'], { '..': 1 }, ['a/b']],
    ...'. .. / a/b ..\\.. %2e %2E%2e %252e%252e ..%2F..%2Fadmin a%2fb a%252Fb a%5cb %00 ..; ..;a=b'.split(
      ' ',
    ),
    ...'%2e%2e; %c0%af %c0%ae%c0%ae %e0%80%af %f0%80%80%af %f8%80%80%80%af %2e%2e%2f%zz'.split(' '),
  ])('%j is not sent', (id) => {
    expect(() => request(order(), { id })).toThrow(
      new ToolFailure('The argument id must be a part of a path, without slashes and dots alone'),
    );
  });

  it('may have slashes if the operator says so, and leads nowhere else', () => {
    const file = { path: '/files/{id}', parameters: [inPath({ allow_slash: true })] };
    expect(urlOf(file, { id: 'a/b c/d' })).toBe('/files/a/b%20c/d');
    for (const id of ['a/../b', '../a', 'a//b', '/a', 'a/', 'a%2f..%2fb', 'a/%252e%252e/b', 'a\\b'])
      expect(() => request(file, { id })).toThrow(ToolFailure);
  });

  it('is needed', () => {
    expect(() => request(order(), {})).toThrow(new ToolFailure('The path needs further arguments'));
    for (const id of [null, [], {}]) expect(() => request(order(), { id })).toThrow(ToolFailure);
  });
});

describe('a value in the query', () => {
  const object = { a: { type: 'string' }, 'b&c': { type: 'string' } };
  it.each([
    [{}, 'a&b=c d+e', 'q=a%26b%3Dc%20d%2Be'],
    [{}, ['a', 'b,c'], 'q=a&q=b%2Cc'],
    [{ explode: false }, ['a', 'b,c'], 'q=a,b%2Cc'],
    [{}, { a: 'x', 'b&c': 1 }, 'a=x&b%26c=1'],
    [{ explode: false }, { a: 'x', other: 1 }, 'q=a,x,other,1'],
    [{ style: 'deepObject' }, { a: 'x', 'b&c': [1] }, 'q%5Ba%5D=x&q%5Bb%26c%5D=%5B1%5D'],
    [{ style: 'json' }, { other: [1] }, 'q=%7B%22other%22%3A%5B1%5D%7D'],
    [{}, [], ''],
    [{ explode: false }, [], ''],
    [{}, '', 'q='],
    [{}, null, ''],
  ])('%j %j is %s', (more, q, text) => {
    const operation = { parameters: [inQuery('q', more)], properties: { q: { properties: object } } };
    expect(urlOf(operation, { q })).toBe(`/orders${text && `?${text}`}`);
  });

  it.each([{}, { style: 'deepObject' }])('has declared names only: %j', (more) => {
    const anyOf = [{ properties: { b: {} } }];
    const operation = {
      parameters: [inQuery('q', more)],
      properties: { q: { properties: { a: {} }, anyOf } },
    };
    expect(urlOf(operation, { q: { a: 1, b: 2 } })).toContain('=1&');
    for (const name of ['key', '__proto__', 'constructor', 'a]&key'])
      expect(() => request(operation, { q: JSON.parse(`{"a":1,${JSON.stringify(name)}:2}`) })).toThrow(
        new ToolFailure(`The argument q has no property ${name}`),
      );
  });
});

describe('a value of the operator', () => {
  const fixed = (location: string) => ({
    path: location === 'path' ? '/of/{user}' : '/of',
    parameters: [{ name: 'user', in: location, fixed: '{{external_user_id}}' }],
  });

  it('is encoded', () => {
    expect(urlOf(fixed('query'), {})).toBe('/of?user=ada%2F..%2Fx%40y');
    expect(request(fixed('header'), {}).headers.user).toBe('ada%2F..%2Fx%40y');
    expect(request({}, {}).headers['X-Tenant']).toBe(`t-${agentVersion.workspaceId}`);
    expect(() => request(fixed('path'), {})).toThrow('The argument user must be a part of a path');
  });

  it.each(['query', 'header', 'path'])('is not that of the model, nor left out: %s', (location) => {
    for (const name of ['user', 'external_user_id', 'key'])
      expect(() => request(fixed(location), { [name]: 'eve' })).toThrow(
        new ToolFailure(`The tool has no argument ${name}`),
      );
    expect(() => request(fixed(location), {}, false)).toThrow(
      new ToolFailure('It needs the external_user_id of a chat, and this reply has none'),
    );
  });
});

it('a header has a text of its own alone', () => {
  const operation = { parameters: [{ argument: 'trace', name: 'X-Trace', in: 'header' }] };
  expect(request(operation, { trace: ['a', 'b'] }).headers['X-Trace']).toBe('a,b');
  for (const trace of ['a\r\nX-Key: b', 'é', '\u0000'])
    expect(() => request(operation, { trace })).toThrow(
      new ToolFailure('The header X-Trace must be printable ASCII'),
    );
  expect(request(operation, {}).headers).toEqual({
    ...{ Accept: 'application/json, */*;q=0.5', 'X-Tenant': `t-${agentVersion.workspaceId}` },
  });
});

describe('a body', () => {
  const body = (content_type: string, encoding = {}) => ({
    ...{ method: 'POST', body: { argument: 'body', content_type, encoding } },
  });

  it('is JSON', () => {
    const { headers, body: sent } = request(body('application/merge-patch+json'), { body: { a: null } });
    expect([headers['Content-Type'], String(sent)]).toEqual(['application/merge-patch+json', '{"a":null}']);
    expect(request(body('application/json'), {}).body).toBeUndefined();
  });

  it('is a form', () => {
    const encoding = { deep: { style: 'deepObject' }, list: { style: 'form', explode: false } };
    const { body: sent } = request(body('application/x-www-form-urlencoded', encoding), {
      body: { text: 'a&b', deep: { c: 1 }, list: [1, 2], other: [1, 2], object: { d: 1 } },
    });
    expect(String(sent)).toBe('text=a%26b&deep%5Bc%5D=1&list=1,2&other=1&other=2&object=%7B%22d%22%3A1%7D');
  });
});

describe('a response', () => {
  const secret = 'canary-secret';
  const respond = (status: number, body: string | Buffer, type = 'application/json', pick?: string[]) =>
    resultOf(
      { status, headers: { 'content-type': type }, redact: redactor([secret]) },
      Buffer.from(body as never),
      pick,
    );

  it.each([
    [200, '{"a":[1]}', 'application/problem+json; charset=utf-8', { a: [1] }],
    [201, '{"a":', 'application/json', '{"a":'],
    [
      200,
      `${'['.repeat(20_000)}${']'.repeat(20_000)}`,
      'application/json',
      expect.stringMatching(/^\[{20000}/),
    ],
    [200, 'plain', 'text/plain', 'plain'],
    [200, '{"a":1}', 'text/plain', '{"a":1}'],
    [204, '', '', null],
    [200, '', 'application/json', null],
    [200, `{"${secret}":"a ${secret}"}`, 'application/json', { '[secret]': 'a [secret]' }],
  ])('%s %.20s is a result', (status, body, type, result) => {
    expect(respond(status, body, type)).toEqual({ result });
  });

  it('that is no text is named', () => {
    const attachments = [{ type: 'file', mime_type: 'image/png', bytes: 2 }];
    expect(respond(200, Buffer.from([0xff, 0xfe]), 'image/png')).toEqual({ result: null, attachments });
  });

  it.each([
    [['id', 'lines[].sku'], { id: 1, lines: [{ sku: 'a' }, { sku: 'b' }, {}] }],
    [['lines[].tags[]', 'none', 'id.x'], { lines: [{ tags: [1] }, {}, {}], id: null }],
    [['lines'], { lines: [{ sku: 'a', tags: [1] }, { sku: 'b' }, {}] }],
    [['lines.sku', 'user.name'], { lines: null, user: { name: 'n' } }],
    [['[].id'], {}],
  ])('has the picked fields %j alone', (pick, result) => {
    const value = {
      id: 1,
      user: { name: 'n', mail: 'm' },
      lines: [{ sku: 'a', tags: [1] }, { sku: 'b' }, {}],
    };
    expect(respond(200, JSON.stringify(value), 'application/json', pick)).toEqual({ result });
    expect(() => respond(200, 'text', 'text/plain', pick)).toThrow('The server did not respond with JSON');
  });

  it.each([400, 401, 404, 429, 500, 503])('with the status %i is a failure with its text', (status) => {
    // A secret at the limit is hidden before the text is cut.
    const text = `${'x'.repeat(1990)} ${secret}${'x'.repeat(1000)}`;
    const message = `The server responded with status ${status}: ${'x'.repeat(1990)} [secret]x`;
    expect(() => respond(status, text)).toThrow(new ToolFailure(message));
    expect(() => respond(status, '')).toThrow(new ToolFailure(`The server responded with status ${status}`));
  });
});

const operation = { ...any, name: 'shop_op', method: 'GET', path: '/a' };
const withTool = (tool: object, more: object = {}) => ({
  base_url: 'https://a.example',
  tools: [{ ...operation, ...tool }],
  ...more,
});
const header = (name: string) => ({ parameters: [{ name, in: 'header', fixed: 'x' }] });
it.each([
  [withTool({}), undefined],
  [withTool({}, { base_url: 'https://a:b@a.example' }), 'base_url'],
  [withTool({}, { base_url: 'https://a.example/?a=b' }), 'base_url'],
  [withTool({}, { base_url: 'ftp://a.example' }), 'base_url'],
  [withTool({}, { timeout_seconds: 76 }), 'timeout_seconds'],
  [withTool({}, { timeout_seconds: 75 }), undefined],
  [withTool({}, { tools: [] }), 'tools'],
  [withTool({ path: '/a/../b' }), 'tools.0.path'],
  [withTool({ path: '/a%2e' }), 'tools.0.path'],
  [withTool({ path: '/{id}' }), 'tools.0.path'],
  [withTool({ parameters: [{ name: 'id', in: 'path', fixed: 'x' }] }), 'tools.0.path'],
  [withTool({ parameters: [{ name: 'a', in: 'query' }] }), 'tools.0.parameters.0'],
  [withTool({ parameters: [{ name: 'a', in: 'query', argument: 'a' }] }), 'tools.0.input_schema.properties'],
  [withTool({ input_schema: { type: 'object', properties: { a: {} } } }), 'tools.0.input_schema.properties'],
  [withTool(header('X-Api-Key')), 'tools.0.parameters.0.name'],
  [withTool(header('Host')), 'tools.0.parameters.0.name'],
  [withTool(header('X-Agent-Depth')), 'tools.0.parameters.0.name'],
  [withTool(header('x-a'), { headers: { 'X-A': 'b' } }), 'tools.0.parameters.0.name'],
  [
    withTool(
      { parameters: [{ name: 'key', in: 'query', fixed: 'x' }] },
      { auth: { type: 'query', name: 'key', secret: 'a' } },
    ),
    'tools.0.parameters.0.name',
  ],
  [withTool({ pick: ['a..b'] }), 'tools.0.pick.0'],
])('an entry %j has its mistake named', (config, place) => {
  const { error } = httpApiConfig.safeParse(config);
  expect(error?.issues.map(({ path }) => path.join('.'))).toEqual(place === undefined ? undefined : [place]);
});
