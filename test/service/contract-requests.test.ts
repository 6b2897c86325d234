import { describe, expect, it } from 'vitest';
import { hasBody, noBody, type Route, shortBody } from '#contract/routes/route.ts';
import { documentedRoutes, routes } from '#contract/routes.ts';
import type { ApiResponse } from '#support/client.ts';
import { dataOf, openTenant, summaryOf } from '#support/open-tenant.ts';
import { useService } from '#support/use-service.ts';

const service = await useService();
const tenant = await openTenant(service);

async function read(responding: Promise<Response>): Promise<ApiResponse> {
  const response = await responding;
  const { status, headers } = response;
  return { status, headers, body: (await response.json()) as ApiResponse['body'] };
}

const call = (method: string, path: string, body?: string): Promise<ApiResponse> =>
  read(tenant.client.request(method, path, body === undefined ? {} : { body }));

const jsonRoutes = Object.values<Route>(routes).filter(
  (route) => hasBody(route) && route.body !== noBody && !route.multipart && route.dialect === undefined,
);

/** The exact envelope of the gateway's own responses. */
const envelope = (error_code: number, message: string) => ({ data: null, message, error_code });

describe('a path or method that is none', () => {
  it.each([
    ['GET', '/'],
    ['GET', '/nothing'],
    ['PUT', '/chats/1'],
    ['GET', '/chats/1/messages/1'],
    ['GET', '/chats/1/messages/1/feedbacks'],
    ['POST', '/chats/published-agents'],
    ['POST', '/chats/1'],
    ['PUT', '/chats'],
    ['PATCH', '/chats'],
    ['DELETE', '/chats'],
    ['DELETE', '/chats/1/messages'],
    ['OPTIONS', '/chats'],
    ['GET', '/Chats'],
    ['GET', '/chats//messages'],
    ['GET', '/chats/1/messages/more/and/more'],
    ['GET', '/%E0%A4%A'],
  ])('%s %s is answered 404 in the envelope', async (method, path) => {
    const response = await call(method, path, method === 'POST' || method === 'PUT' ? '{}' : undefined);
    expect(response.status).toBe(404);
    expect(response.body).toEqual(envelope(10003, 'Resource not found'));
    expect(response.headers.get('content-type')).toBe('application/json');
  });

  it('is so with no key, too', async () => {
    const response = await fetch(`${service.baseUrl}/nothing`);
    expect(response.status).toBe(404);
    expect(await response.json()).toEqual(envelope(10003, 'Resource not found'));
  });
});

it.each(['/chats', '/chats/upload-file'])('a stage without origins says none to a page: %s', async (path) => {
  const headers = { Origin: 'https://app.example.com', 'Access-Control-Request-Method': 'POST' };
  for (const method of ['OPTIONS', 'POST']) {
    const response = await fetch(service.baseUrl + path, { method, headers });
    expect([method, response.status]).toEqual([method, method === 'OPTIONS' ? 404 : 400]);
    expect([...response.headers.keys()].filter((name) => /^access-control-|^vary$/.test(name))).toEqual([]);
    await response.body?.cancel();
  }
});

it('HEAD is no method of any path', async () => {
  for (const path of ['/chats', '/chats/published-agents', '/chats/1/messages', '/batches', '/nothing']) {
    const response = await tenant.client.request('HEAD', path);
    expect([path, response.status, await response.text()]).toEqual([path, 404, '']);
  }
});

it.each([
  ['headers', '/chats', { 'x-more': 'm'.repeat(10_240) }],
  ['address and headers', `/chats?external_user_id=${'m'.repeat(8000)}`, { 'x-more': 'm'.repeat(2240) }],
])('%s of more than 10 KB are not called a body that is too large', async (_what, path, headers) => {
  const response = await tenant.client.request('GET', path, { headers });
  expect(await response.json()).toEqual(
    envelope(10006, expect.stringMatching(/^The request is too large: address and headers may have 10 KB/)),
  );
  expect(response.status).toBe(400);
});

describe('bytes that are not UTF-8', () => {
  const replaced = 'user \ufffd\ufffda';

  it('become U+FFFD in a JSON body, and in the query', async () => {
    const body = { name: 'A', agent_id: tenant.agentId, external_user_id: replaced };
    const bytes = Buffer.from(JSON.stringify(body).replace('\ufffd\ufffd', '\xff\xc3'), 'latin1');
    const response = await tenant.client.request('POST', '/chats', { body: bytes });
    expect(await response.json()).toMatchObject({ data: { external_user_id: replaced } });
    const listed = await call('GET', '/chats?external_user_id=user%20%FF%C3a');
    expect(listed.body.data).toMatchObject([{ external_user_id: replaced }]);
  });
});

describe('a body that is too large', () => {
  const megabyte = 1024 * 1024;

  it.each([
    ['what a function takes', 6.5 * megabyte],
    ['what the gateway takes', 10.5 * megabyte],
  ])('for %s is refused, naming the limit', async (_what, bytes) => {
    const body = JSON.stringify({ message: 'm'.repeat(bytes), agent_id: tenant.agentId });
    const response = await call('POST', '/chats/1/messages', body);
    expect(response.status).toBe(400);
    expect(response.body).toEqual(
      envelope(10006, expect.stringMatching(/^The request body is too large: at most 2 MB$|, a body 6 MB, /)),
    );
  });

  it.each([
    ['POST', '/chats', '64 KB'],
    ['PATCH', '/chats/1', '64 KB'],
    ['POST', '/chats/1/stop', '64 KB'],
    ['POST', '/chats/1/messages', '2 MB'],
    ['POST', '/chats/1/messages/1/feedbacks', '64 KB'],
  ] as const)('for its route is refused: %s %s takes %s', async (method, path, most) => {
    const bytes = most === '2 MB' ? 2 * megabyte : 64 * 1024;
    const body = (length: number) => `{"more":"${'x'.repeat(length - 11)}"}`;
    const tooLarge = `400/10006 The request body is too large: at most ${most}`;
    expect(summaryOf(await call(method, path, body(bytes)))).not.toBe(tooLarge);
    expect(summaryOf(await call(method, path, body(bytes + 1)))).toBe(tooLarge);
  });

  it.each([
    ['[', 'levels'],
    ['0,', 'values'],
  ])('with too many of %s is refused by every route before it is parsed', async (repeated, problem) => {
    for (const { method, path, largestBody = shortBody } of jsonRoutes) {
      const most =
        problem === 'levels'
          ? '64 objects and arrays in each other'
          : `${largestBody.values} fields and elements together`;
      const body = `{"more":[${repeated.repeat(Math.min(largestBody.values, largestBody.bytes / repeated.length - 10))}`;
      expect(summaryOf(await call(method, path.replaceAll(/\{\w+\}/g, '1'), body)), path).toBe(
        `400/10006 The body has too many ${problem}: at most ${most}`,
      );
    }
  });

  it('for the field, but not for the gateway, is refused by its field', async () => {
    const body = JSON.stringify({ message: 'm'.repeat(1.9 * megabyte), agent_id: tenant.agentId });
    expect(summaryOf(await call('POST', '/chats/1/messages', body))).toBe(
      '400/10006 message must be at most 262144 bytes of UTF-8',
    );
  });
});

/** Every route of a chat, with what each needs beside the id: the others ignore it. */
const chatRoutes = documentedRoutes
  .filter(({ path }) => path.includes('{chat_id}'))
  .map(({ method, path }) => [method, path.replace('{message_id}', '1')] as const);

describe.each(chatRoutes)('%s %s', (method, path) => {
  const callWith = async (chatId: string) => {
    const fields = { name: 'B', message: 'Hi', stream: false, type: 'sys_helpful', external_user_id: 'ann' };
    const body =
      method === 'GET' || method === 'DELETE' ? undefined : { ...fields, agent_id: tenant.agentId };
    const query = body === undefined ? '?external_user_id=ann&response_id=resp_1' : '';
    return summaryOf(
      await call(method, path.replace('{chat_id}', chatId) + query, body && JSON.stringify(body)),
    );
  };

  it.each(['abc', '1.5', '1.0', '%20', '1e1', '-', '12abc', 'undefined', '%F0%9F%98%80'])(
    'rejects the chat_id %s',
    async (chatId) => {
      expect(await callWith(chatId)).toBe('400/10006 chat_id must be an integer');
    },
  );

  it.each([
    ...['0', '-1', '-0', '999999', '9007199254740991', '9007199254740993', '12345678901234567890123'],
    `-${'9'.repeat(400)}`,
  ])('finds no chat %s', async (chatId) => {
    expect(await callWith(chatId)).toBe('404/10003 Chat not found');
  });
});

describe('x-request-id', () => {
  it('is on every answer, and another on each', async () => {
    const chat = await tenant.createChat();
    const body = { message: 'Hi', agent_id: tenant.agentId };
    const { client } = tenant;
    const messages = `/chats/${chat.id}/messages`;
    const requests: Parameters<typeof client.request>[] = [
      ['GET', '/chats'],
      ['GET', '/chats/published-agents'],
      ['GET', `${messages}?external_user_id=ann`],
      ['POST', '/chats', { body: { name: 'A', agent_id: tenant.agentId } }],
      ['POST', messages, { body }],
      ['POST', messages, { body: { ...body, stream: false } }],
      ['POST', `${messages}/1/feedbacks`, { body: {} }],
      ['POST', '/chats', { body: '{' }],
      ['GET', '/chats?limit=0'],
      ['GET', '/chats/999999/messages?external_user_id=ann'],
      ['GET', '/nothing'],
      ['DELETE', '/chats'],
      ['GET', '/chats', { headers: { 'x-api-key': 'wrong' } }],
      ['GET', '/chats', { headers: { 'x-api-key': '' } }],
    ];
    const ids = new Set<string | null>();
    for (const request of requests) {
      const response = await client.request(...request);
      await response.text();
      ids.add(response.headers.get('x-request-id'));
    }
    expect([ids.size, ids.has(null), ids.has('')]).toEqual([requests.length, false, false]);
  });

  it('is the service’s own, whatever the client sends', async () => {
    const response = await tenant.client.get('/chats', { headers: { 'x-request-id': 'mine' } });
    expect(response.headers.get('x-request-id')).not.toBe('mine');
  });
});

it('paths are relative to a base address that ends in /api/v1', async () => {
  expect(service.baseUrl).toMatch(/\/api\/v1$/);
  const root = service.baseUrl.replace(/\/v1$/, '');
  for (const path of ['/chats', '/v2/chats']) {
    const response = await fetch(root + path, { headers: { 'x-api-key': tenant.apiKey } });
    expect([response.status, await response.json()]).toEqual([404, envelope(10003, 'Resource not found')]);
  }
  expect(dataOf(await tenant.client.get('/chats'))).toEqual(expect.any(Array));
});

/** Every route with a JSON body, and a valid body for it. */
const posts: [name: string, path: string, body: (agentId: string) => object][] = [
  ['POST /chats', '/chats', (agent_id) => ({ name: 'A', agent_id })],
  ['POST messages', '/chats/1/messages', (agent_id) => ({ message: 'Hi', stream: false, agent_id })],
  [
    'POST feedbacks',
    '/chats/1/messages/1/feedbacks',
    () => ({ type: 'sys_helpful', external_user_id: 'user-1' }),
  ],
];

/** Posts bytes, so that `fetch` adds no Content-Type. */
function postBytes(path: string, text: string, contentType?: string): Promise<ApiResponse> {
  const headers = {
    'x-api-key': tenant.apiKey,
    ...(contentType !== undefined && { 'Content-Type': contentType }),
  };
  return read(
    fetch(service.baseUrl + path, { method: 'POST', headers, body: new TextEncoder().encode(text) }),
  );
}

describe.each(posts)('%s', (_name, path, bodyOf) => {
  it.each([
    ['broken', '{"name":', 'The body is not valid JSON'],
    ['empty', '', 'The body is not valid JSON'],
    ['no JSON', 'name=A', 'The body is not valid JSON'],
    ['followed by more', '{} {}', 'The body is not valid JSON'],
    ['an array', '[]', 'The body must be an object'],
    ['null', 'null', 'The body must be an object'],
    ['a string', '"text"', 'The body must be an object'],
    ['a number', '5', 'The body must be an object'],
  ])('refuses a body that is %s', async (_what, body, message) => {
    expect(summaryOf(await postBytes(path, body, 'application/json'))).toBe(`400/10006 ${message}`);
  });

  it('reads a body after a BOM', async () => {
    const body = JSON.stringify(bodyOf(tenant.agentId));
    const plain = await postBytes(path, body, 'application/json');
    expect([200, 404]).toContain(plain.status);
    expect((await postBytes(path, `\ufeff${body}`, 'application/json')).status).toBe(plain.status);
  });

  it.each([
    ['none', undefined],
    ['text', 'text/plain'],
    ['a form', 'application/x-www-form-urlencoded'],
    ['a form with files', 'multipart/form-data; boundary=x'],
    ['almost JSON', 'application/jsonp'],
  ])('refuses a Content-Type that is %s', async (_what, contentType) => {
    const response = await postBytes(path, JSON.stringify(bodyOf(tenant.agentId)), contentType);
    expect(summaryOf(response)).toBe('400/10006 Content-Type must be application/json');
  });

  it.each([
    'application/json; charset=utf-8',
    'APPLICATION/JSON',
    'application/json;charset=UTF-8',
    'application/vnd.client+json',
  ])('reads a body of the type %s', async (contentType) => {
    const response = await postBytes(path, JSON.stringify(bodyOf(tenant.agentId)), contentType);
    expect(response.body.message ?? '').not.toContain('Content-Type');
    expect([200, 404]).toContain(response.status);
  });
});
