import { describe, expect, it } from 'vitest';
import { agentctlOf } from '#support/agentctl.ts';
import { openTenant } from '#support/open-tenant.ts';
import { errorOf, openAiRequests } from '#support/openai-requests.ts';
import { operator } from '#support/service.ts';
import { useService } from '#support/use-service.ts';

const service = await useService();

const invalidKey = {
  status: 401,
  type: 'invalid_request_error',
  param: null,
  code: 'invalid_api_key',
  message: 'Incorrect API key provided: send a valid key in the header Authorization, as "Bearer ak_…"',
};
const openOpenAi = async (options?: Parameters<typeof openTenant>[1]) => {
  const tenant = await openTenant(service, { openai: true, ...options });
  return { ...tenant, openai: openAiRequests(service, tenant) };
};
/** One of each route, and a path that is none. */
const requests = [
  ['GET', '/models'],
  ['GET', '/v1/models/x'],
  ['POST', '/chat/completions'],
  ['DELETE', '/models/x'],
] as const;

describe.each(requests)('%s %s', (method, path) => {
  const body = method === 'POST' ? { body: {} } : {};

  it('rejects what is no key of the service', async () => {
    const { openai, apiKey } = await openOpenAi();
    for (const Authorization of [
      `Bearer ak_${'0'.repeat(43)}`,
      'Bearer ',
      'Bearer',
      'Basic dXNlcjpwYXNz',
      apiKey,
      `Bearer ${apiKey} ${apiKey}`,
      `Bearer ${apiKey.toLowerCase()}`,
      `Bearer "${apiKey}"`,
    ])
      expect(
        await errorOf(await openai.request(method, path, { ...body, headers: { Authorization } })),
        Authorization,
      ).toMatchObject(invalidKey);
  });

  it('denies a disabled workspace, and one that may not use these routes', async () => {
    const { openai, workspaceId } = await openOpenAi();
    const { workspaces } = operator();
    const rejection = async () => errorOf(await openai.request(method, path, body));
    await workspaces.update(workspaceId, { openAiEnabled: false });
    expect(await rejection()).toMatchObject({
      ...{ status: 403, type: 'permission_error', code: 'openai_disabled' },
      message: expect.stringContaining('agentctl workspaces update WORKSPACE --openai on'),
    });
    await workspaces.update(workspaceId, { enabled: false });
    expect(await rejection()).toMatchObject({ status: 403, code: 'access_denied', message: 'Access denied' });
    await workspaces.update(workspaceId, { enabled: true, openAiEnabled: true });
    const response = await openai.request(method, path, body);
    await response.text();
    expect([200, 400, 404]).toContain(response.status);
  });

  it('has the envelope of the gateway without the header', async () => {
    const { apiKey } = await openOpenAi();
    for (const headers of [{}, { 'x-api-key': apiKey }]) {
      const response = await fetch(`${service.baseUrl}/openai${path}`, { method, headers });
      expect([response.status, await response.json()]).toEqual([
        400,
        { data: null, message: expect.stringContaining('API key'), error_code: 10001 },
      ]);
    }
  });
});

it('a Bearer key opens no route of the service itself', async () => {
  const { apiKey } = await openOpenAi();
  const response = await fetch(`${service.baseUrl}/chats`, {
    headers: { Authorization: `Bearer ${apiKey}` },
  });
  expect([response.status, ((await response.json()) as { error_code: number }).error_code]).toEqual([
    400, 10001,
  ]);
});

it('is off in a new workspace, and an operator turns it on and off', async () => {
  const { workspaceId, agentId, apiKey } = await openTenant(service);
  const openai = openAiRequests(service, { apiKey, agentId });
  const agentctl = agentctlOf(service);
  expect((await openai.request('GET', '/models')).status).toBe(403);
  for (const [value, status] of [
    ['on', 200],
    ['off', 403],
  ] as const) {
    const updated = await agentctl.json('workspaces', 'update', workspaceId, '--openai', value);
    expect(updated).toMatchObject({ openai: value === 'on' });
    expect((await openai.request('GET', '/models')).status).toBe(status);
  }
});

it('in whitelist mode, the parameter user must be listed, before anything else is checked', async () => {
  const { openai } = await openOpenAi({ whitelist: ['ann'] });
  for (const fields of [
    {},
    { user: null },
    { user: 'eve' },
    { user: '' },
    { user: 5 },
    { messages: [], user: 'eve' },
    { user: 'eve', tools: [{}] },
    { user: 'eve', model: 'unknown' },
  ]) {
    const expected = { status: 403, type: 'permission_error', code: '14103', param: 'user' };
    expect(await openai.rejection(fields), JSON.stringify(fields)).toMatchObject(expected);
  }
  expect((await openai.complete({ user: 'ann' })).choices[0]?.finish_reason).toBe('stop');
  expect((await openai.request('GET', '/models')).status).toBe(200);
});

it('counts as sends and as reads, and says so in OpenAI’s headers', async () => {
  const { openai } = await openOpenAi({ limits: { sends: '2/h:2', reads: '2/h:2' } });
  const first = await openai.send();
  await first.text();
  expect(Object.fromEntries(first.headers)).toMatchObject({
    'x-ratelimit-limit-requests': '2',
    'x-ratelimit-remaining-requests': '1',
    'x-ratelimit-reset-requests': '1800s',
  });
  const last = await openai.send({ stream: true });
  await last.text();
  // promptfoo repeats a request, and pays for it again, if a response says that nothing remains.
  expect([last.status, last.headers.get('x-ratelimit-remaining-requests')]).toEqual([200, null]);
  for (const stream of [true, false]) {
    const rejection = await openai.rejection({ stream });
    const limited = { status: 429, type: 'requests', code: 'rate_limit_exceeded', param: null };
    expect(rejection).toMatchObject(limited);
    expect(Number(rejection.headers.get('retry-after'))).toBeGreaterThan(1700);
    expect(rejection.headers.get('x-ratelimit-remaining-requests')).toBe('0');
    expect(rejection.headers.get('x-should-retry')).toBeNull();
  }
  for (const path of ['/models', '/models/x', '/nothing']) {
    const { status } = await openai.request('GET', path);
    expect(status, path).toBe(path === '/nothing' ? 429 : path === '/models' ? 200 : 404);
  }
});

it('says for every other path what there is', async () => {
  const { openai } = await openOpenAi();
  for (const [method, path, hint] of [
    ['POST', '/responses', /use POST \/openai\/chat\/completions/],
    ['POST', '/v1/responses', /use POST \/openai\/chat\/completions/],
    ['POST', '/embeddings', /there are GET \/openai\/models/],
    ['POST', '/chat/completions/x', /there are/],
    ['GET', '/v1/chat', /there are/],
    ['PUT', '/models', /there are/],
    ['DELETE', '/models/x', /there are/],
  ] as const)
    expect(await errorOf(await openai.request(method, path)), path).toMatchObject({
      ...{ status: 404, code: 'unknown_url', type: 'invalid_request_error' },
      message: expect.stringMatching(hint),
    });
});
