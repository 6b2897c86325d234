import { afterEach, describe, expect, it, vi } from 'vitest';
import { createApiKey, rotateApiKey } from '#domain/workspaces/api-keys.ts';
import { clientOf } from '#support/client.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { startDynamoProxy } from '#support/dynamo-proxy.ts';
import { openTenant, summaryOf } from '#support/open-tenant.ts';
import { openAiRequests } from '#support/openai-requests.ts';
import { operator } from '#support/service.ts';
import { useService } from '#support/use-service.ts';

/**
 * Every stage's cache time. With prompt authorizers, as in authentication.test.ts, a revoked key is rejected at once.
 */
const cacheSeconds = 60;

const allowed = '200/0 success';
const rejected = '400/10001 Missing or invalid API key: send a valid key in the header x-api-key';

const proxy = closeAfterTests(await startDynamoProxy());
const service = await useService({
  clearAuthorizerCacheOnWrite: false,
  variables: { AWS_ENDPOINT_URL_DYNAMODB: proxy.url },
});
proxy.emulator = service.run.endpoints.dynamodb;
afterEach(() => vi.useRealTimers());

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
    const { key, apiKey } = await createApiKey(operator(), { workspaceId, name: null, expiresAt: null });
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
    const { apiKey } = await createApiKey(operator(), { workspaceId, name: null, expiresAt });
    expect(await summaryWith(apiKey)).toBe(allowed);
    await expect.poll(() => summaryWith(apiKey)).toBe(rejected);
    expect(Date.now()).toBeGreaterThanOrEqual(expiresAt.getTime());
  });
  it('a rotated key works beside the new one until its overlap is over, and never longer than it had', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const { workspaceId } = await openTenant(service, { openai: true });
    const { key, apiKey } = await createApiKey(operator(), { workspaceId, name: 'shop', expiresAt: null });
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
