import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { documentedRoutes } from '#contract/routes.ts';
import { createApiKey, rotateApiKey } from '#domain/workspaces/api-keys.ts';
import { agentctlOf } from '#support/agentctl.ts';
import { startChatEndpoint } from '#support/chat-endpoint.ts';
import { type ApiResponse, clientOf } from '#support/client.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { startDynamoProxy } from '#support/dynamo-proxy.ts';
import { webFunctions } from '#support/entry-points.ts';
import { openTenant, summaryOf } from '#support/open-tenant.ts';
import { openAiRequests } from '#support/openai-requests.ts';
import { createTenant, operator, type Tenant } from '#support/service.ts';
import { createChat, send } from '#support/turns.ts';
import { useService } from '#support/use-service.ts';

/** Every stage's cache time. */
const cacheSeconds = 60;

const allowed = '200/0 success';
const rejected = '400/10001 Missing or invalid API key: send a valid key in the header x-api-key';

const proxy = closeAfterTests(await startDynamoProxy());
// As in AWS, the gateway keeps the answers of authorizers whatever an operator writes.
const service = await useService({
  clearAuthorizerCacheOnWrite: false,
  variables: { AWS_ENDPOINT_URL_DYNAMODB: proxy.url },
});
proxy.emulator = service.run.endpoints.dynamodb;
afterEach(() => vi.useRealTimers());
const { apiKey } = await openTenant(service);
const disabled = await openTenant(service);
await operator().workspaces.update(disabled.workspaceId, { enabled: false });

/** The authorizer of the OpenAI-compatible routes has its tests in openai-access.test.ts. */
const requests = documentedRoutes.map(
  ({ method, path }) => [method, path.replaceAll(/\{\w+\}/g, '1')] as const,
);

async function callWith(
  headers: Record<string, string>,
  method = 'GET',
  path = '/chats',
): Promise<ApiResponse> {
  const response = await fetch(service.baseUrl + path, {
    method,
    headers: { ...headers, ...(method === 'POST' && { 'Content-Type': 'application/json' }) },
    ...(method === 'POST' && { body: '{}' }),
  });
  const { status, headers: received } = response;
  return { status, headers: received, body: (await response.json()) as ApiResponse['body'] };
}

/** Creates another key of a tenant, as an operator does. */
const issueKey = (workspaceId: string, expiresAt: Date | null = null, name: string | null = null) =>
  createApiKey(operator(), { workspaceId, name, expiresAt });

describe.each(requests)('%s %s', (method, path) => {
  it('refuses a request without a key, with an empty one and with a wrong one', async () => {
    for (const headers of [{}, { 'x-api-key': '' }, { 'x-api-key': `ak_${'0'.repeat(43)}` }]) {
      const response = await callWith(headers, method, path);
      expect(summaryOf(response)).toBe(rejected);
      expect(Object.keys(response.body).toSorted()).toEqual(['data', 'error_code', 'message']);
      expect(response.body.data).toBeNull();
      expect(response.headers.get('x-request-id')).toMatch(/./);
    }
  });

  it('lets a good key through to its own checks', async () => {
    expect((await callWith({ 'x-api-key': apiKey }, method, path)).body.error_code).not.toBe(10001);
  });

  it('denies a disabled workspace', async () => {
    expect(summaryOf(await callWith({ 'x-api-key': disabled.apiKey }, method, path))).toBe(
      '403/10001 Access denied',
    );
  });
});

describe('a key', () => {
  it.each<[what: string, change: (apiKey: string) => Record<string, string>]>([
    ['in another case', (key) => ({ 'x-api-key': key.toLowerCase() })],
    ['cut short', (key) => ({ 'x-api-key': key.slice(0, -1) })],
    ['with more behind it', (key) => ({ 'x-api-key': `${key}a` })],
    ['in quotes', (key) => ({ 'x-api-key': `"${key}"` })],
    ['as a bearer token', (key) => ({ Authorization: `Bearer ${key}` })],
    ['very long', () => ({ 'x-api-key': 'k'.repeat(4000) })],
    ['with marks of the table', () => ({ 'x-api-key': 'KEY#*' })],
  ])('%s is none', async (_what, change) => {
    expect(summaryOf(await callWith(change(apiKey)))).toBe(rejected);
  });

  it('is not read from the query', async () => {
    expect(summaryOf(await callWith({}, 'GET', `/chats?x-api-key=${apiKey}`))).toBe(rejected);
  });

  it('looks as documented: ak_ and 43 characters of base 62', async () => {
    expect(apiKey).toMatch(/^ak_[0-9A-Za-z]{43}$/);
  });

  it('that is revoked or expired tells nothing of its workspace, not even that it is disabled', async () => {
    const { workspaceId } = await openTenant(service);
    const [revoked, expired] = [await issueKey(workspaceId), await issueKey(workspaceId, new Date(0))];
    await operator().apiKeys.revoke(revoked.key.id, new Date().toISOString());
    await operator().workspaces.update(workspaceId, { enabled: false });
    for (const key of [revoked, expired])
      expect(summaryOf(await callWith({ 'x-api-key': key.apiKey }))).toBe(rejected);
  });
});

/** Both authorizers of the gateway: a request with the key, and what it says. */
const doors: readonly [header: string, summaryWith: (apiKey: string) => Promise<string>][] = [
  ['x-api-key', async (apiKey) => summaryOf(await clientOf(service, { apiKey }).get('/chats'))],
  [
    'Authorization',
    async (apiKey) => {
      const response = await openAiRequests(service, { apiKey, agentId: '' }).request('GET', '/models');
      const { error } = (await response.json()) as { error?: { code: string } };
      if (response.status === 401 && error?.code === 'invalid_api_key') return rejected;
      return response.status === 200 ? allowed : String(response.status);
    },
  ],
];

/** Advances the gateway's clock, which its cache uses; functions use the machine's clock. */
const letCacheExpire = (): void => void vi.setSystemTime(Date.now() + cacheSeconds * 1000);

describe.each(doors)('with the header %s', (_header, summaryWith) => {
  it('a revoked key works for as long as the authorizer’s answer is kept, and no longer', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const { workspaceId } = await openTenant(service, { openai: true });
    const { key, apiKey } = await issueKey(workspaceId);
    expect(await summaryWith(apiKey)).toBe(allowed);
    await operator().apiKeys.revoke(key.id, new Date().toISOString());
    vi.setSystemTime(Date.now() + 59_900);
    expect(await summaryWith(apiKey)).toBe(allowed);
    vi.setSystemTime(Date.now() + 200);
    expect(await summaryWith(apiKey)).toBe(rejected);
  });

  it('a key that expires is refused from that moment on', async () => {
    const { workspaceId } = await openTenant(service, { openai: true });
    const expiresAt = new Date(Date.now() + 6000);
    const { apiKey } = await issueKey(workspaceId, expiresAt);
    expect(await summaryWith(apiKey)).toBe(allowed);
    await expect.poll(() => summaryWith(apiKey)).toBe(rejected);
    expect(Date.now()).toBeGreaterThanOrEqual(expiresAt.getTime());
  });
  it('a rotated key works beside the new one until its overlap is over, and never longer than it had', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const { workspaceId } = await openTenant(service, { openai: true });
    const { key, apiKey } = await issueKey(workspaceId, null, 'shop');
    const first = await rotateApiKey(operator(), { keyId: key.id, overlap: 3_600_000, expiresAt: null });
    expect(first.old.expiresAt).not.toBeNull();
    expect(await summaryWith(apiKey)).toBe(allowed);
    expect(await summaryWith(first.apiKey)).toBe(allowed);
    const repeated = await rotateApiKey(operator(), { keyId: key.id, overlap: 86_400_000, expiresAt: null });
    expect(repeated.old.expiresAt).toBe(first.old.expiresAt);
    // Functions use the machine's real clock.
    vi.useRealTimers();
    const last = await rotateApiKey(operator(), { keyId: key.id, overlap: 0, expiresAt: null });
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + cacheSeconds * 1000 });
    expect(await summaryWith(apiKey)).toBe(rejected);
    expect(await summaryWith(last.apiKey)).toBe(allowed);
    expect(last.key.name).toBe('shop');
    await expect(rotateApiKey(operator(), { keyId: key.id, overlap: 0, expiresAt: null })).rejects.toThrow(
      `Key ${key.id} has expired: create a new one`,
    );
  });

  it('the last day of a key’s use is noted down once, and nobody is kept out when it cannot be', async () => {
    const { apiKey, apiKeyId } = await openTenant(service, { openai: true });
    const today = new Date().toISOString().slice(0, 10);
    vi.useFakeTimers({ toFake: ['Date'] });
    const markers: string[] = [];
    proxy.handle = async ({ target, functionName, body }, pass) => {
      if (target !== 'UpdateItem' || !functionName.includes('Authorize')) return pass();
      markers.push(JSON.stringify(body.ExpressionAttributeValues));
      return markers.length === 1 ? { status: 400, body: '{"__type":"AccessDeniedException"}' } : pass();
    };
    for (let request = 0; request < 4; request += 1) {
      expect(await summaryWith(apiKey)).toBe(allowed);
      letCacheExpire();
    }
    expect(markers).toEqual([expect.stringContaining(today), expect.stringContaining(today)]);
    expect((await operator().apiKeys.byId(apiKeyId))?.lastUsedOn).toBe(today);
  });
});

/** Sends in one chat after another message until it is stopped. A send whose signature is rejected gets a 5xx. */
async function startSending(tenant: Tenant) {
  const client = clientOf(service, tenant);
  const chatId = await createChat(client, tenant);
  const statuses: number[] = [];
  let isStopped = false;
  const sending = (async () => {
    while (!isStopped) statuses.push((await send(client, tenant, chatId, 'Hello')).status);
  })();
  return {
    /** Waits until so many more messages have been sent. */
    more: (count: number, until = statuses.length + count) =>
      vi.waitFor(() => expect(statuses.length).toBeGreaterThanOrEqual(until), 60_000),
    async stop(): Promise<number[]> {
      isStopped = true;
      await sending;
      return [...new Set(statuses)];
    },
  };
}

/** Sends as a caller whom the authorizer has not signed yet. */
const sendOnce = async (): Promise<number> => {
  const tenant = await createTenant();
  const client = clientOf(service, tenant);
  return (await send(client, tenant, await createChat(client, tenant), 'Hello')).status;
};

async function valueAt(VersionStage: 'AWSCURRENT' | 'AWSPREVIOUS'): Promise<string> {
  const { endpoints, outputs } = service.run;
  const secrets = new SecretsManagerClient({ endpoint: endpoints.secretsmanager });
  const SecretId = outputs.CallerSecretArn;
  const { SecretString = '' } = await secrets.send(new GetSecretValueCommand({ SecretId, VersionStage }));
  return SecretString;
}

/** The status of a request that is signed with this value. */
async function statusOfSigned(values: readonly string[]): Promise<number[]> {
  const tenant = await createTenant();
  const endpoint = await startChatEndpoint(service, 'http://127.0.0.1:9');
  const statuses = values.map(async (value) => {
    const response = await fetch(`${endpoint.url}/chats`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...endpoint.headersOf(tenant, value) },
      body: JSON.stringify({ name: 'A chat', agent_id: tenant.agentId }),
    });
    return response.status;
  });
  return Promise.all(statuses).finally(endpoint.close);
}

const rotate = (...options: string[]) => agentctlOf(service).run('secrets', 'rotate', 'caller', ...options);

describe.runIf(webFunctions === 'all')('agentctl secrets rotate caller', () => {
  it('rejects no send, whichever of the functions read the secret before and which after', async () => {
    const sending = await startSending(await createTenant());
    await sending.more(3);
    const before = await valueAt('AWSCURRENT');
    expect(await rotate()).toMatchObject({ code: 0 });
    expect(await valueAt('AWSPREVIOUS')).toBe(before);
    expect(await valueAt('AWSCURRENT')).toMatch(/^[\w-]{43}$/);
    await sending.more(3);
    // A new authorizer knows the new value, and the web function does not.
    service.run.killWorkers('AuthorizeRequest');
    expect(await sendOnce()).toBe(200);
    await sending.more(3);
    expect(await sending.stop()).toEqual([200]);

    // A new web function knows both, and the gateway still sends what the old authorizer has signed.
    service.run.killWorkers('Chats');
    expect(await sendOnce()).toBe(200);
    expect(await statusOfSigned([before, await valueAt('AWSCURRENT'), 'x'.repeat(43)])).toEqual([
      200, 200, 403,
    ]);
  });

  it('rejects a second rotation while callers with the first value may be on their way', async () => {
    const current = await valueAt('AWSCURRENT');
    const { code, stderr } = await rotate();
    expect(code).toBe(1);
    expect(stderr).toMatch(/^The secret was rotated at 2\S+Z, .* Rotate again in 4\d\d s, or use --force$/m);
    expect(await valueAt('AWSCURRENT')).toBe(current);
  });

  it('rotates at once with --force', async () => {
    const current = await valueAt('AWSCURRENT');
    expect(await rotate()).toMatchObject({ code: 1 });
    expect(await rotate('--force')).toMatchObject({ code: 0 });
    expect(await valueAt('AWSPREVIOUS')).toBe(current);
  });
});
