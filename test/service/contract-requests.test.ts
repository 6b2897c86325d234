import { describe, expect, it } from 'vitest';
import { documentedRoutes } from '#contract/routes.ts';
import { checkResponse } from '#support/check-response.ts';
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

async function call(method: string, path: string, body?: string): Promise<ApiResponse> {
  const response = await read(tenant.client.request(method, path, body === undefined ? {} : { body }));
  checkResponse({ method, path: path.split('?')[0] ?? '', ...response });
  return response;
}

/** The exact envelope of the gateway's own responses. */
const envelope = (error_code: number, message: string) => ({ data: null, message, error_code });

describe('a path or method that is none', () => {
  it.each([
    ['GET', '/'],
    ['GET', '/nothing'],
    ['POST', '/chats/published-agents'],
    ['PUT', '/chats'],
    ['OPTIONS', '/chats'],
    ['GET', '/Chats'],
    ['GET', '/chats//messages'],
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

it('x-request-id is another one on each response, whatever the client sends', async () => {
  const headers = { 'x-request-id': 'mine' };
  const responses = [
    await tenant.client.get('/chats', { headers }),
    await tenant.client.get('/chats', { headers }),
    await call('GET', '/nothing'),
  ];
  const ids = responses.map((response) => response.headers.get('x-request-id'));
  expect(new Set(['mine', ...ids]).size).toBe(4);
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

/** Posts bytes, so that `fetch` adds no Content-Type. */
function postBytes(text: string, contentType?: string): Promise<ApiResponse> {
  const headers = {
    'x-api-key': tenant.apiKey,
    ...(contentType !== undefined && { 'Content-Type': contentType }),
  };
  return read(
    fetch(`${service.baseUrl}/chats`, { method: 'POST', headers, body: new TextEncoder().encode(text) }),
  );
}

describe('a body', () => {
  const body = JSON.stringify({ name: 'A', agent_id: tenant.agentId });

  it.each([
    ['broken', '{"name":', 'The body is not valid JSON'],
    ['empty', '', 'The body is not valid JSON'],
    ['no JSON', 'name=A', 'The body is not valid JSON'],
    ['followed by more', '{} {}', 'The body is not valid JSON'],
    ['an array', '[]', 'The body must be an object'],
    ['null', 'null', 'The body must be an object'],
    ['a string', '"text"', 'The body must be an object'],
    ['a number', '5', 'The body must be an object'],
  ])('is refused that is %s', async (_what, text, message) => {
    expect(summaryOf(await postBytes(text, 'application/json'))).toBe(`400/10006 ${message}`);
  });

  it('is read after a BOM', async () => {
    expect((await postBytes(`\ufeff${body}`, 'application/json')).status).toBe(200);
  });

  it.each([
    ['none', undefined],
    ['text', 'text/plain'],
    ['a form', 'application/x-www-form-urlencoded'],
    ['a form with files', 'multipart/form-data; boundary=x'],
    ['almost JSON', 'application/jsonp'],
  ])('is refused with a Content-Type that is %s', async (_what, contentType) => {
    const response = await postBytes(body, contentType);
    expect(summaryOf(response)).toBe('400/10006 Content-Type must be application/json');
  });

  it.each([
    'application/json; charset=utf-8',
    'APPLICATION/JSON',
    'application/json;charset=UTF-8',
    'application/vnd.client+json',
  ])('is read of the type %s', async (contentType) => {
    const response = await postBytes(body, contentType);
    expect(summaryOf(response)).toBe('200/0 success');
  });
});
