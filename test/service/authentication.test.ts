import { describe, expect, it } from 'vitest';
import { documentedRoutes } from '#contract/routes.ts';
import { createApiKey } from '#domain/workspaces/api-keys.ts';
import type { ApiResponse } from '#support/client.ts';
import { openTenant, summaryOf } from '#support/open-tenant.ts';
import { operator } from '#support/service.ts';
import { useService } from '#support/use-service.ts';

const service = await useService();
const { apiKey } = await openTenant(service);
const disabled = await openTenant(service);
await operator().workspaces.update(disabled.workspaceId, { enabled: false });

const rejected = '400/10001 Missing or invalid API key: send a valid key in the header x-api-key';
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

const summaryWith = async (key: string) => summaryOf(await callWith({ 'x-api-key': key }));

/** Creates another key of a tenant, as an operator does. */
async function issueKey(workspaceId: string, expiresAt: Date | null = null) {
  return createApiKey(operator(), { workspaceId, name: 'Further', expiresAt });
}

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
    for (const key of [revoked, expired]) expect(await summaryWith(key.apiKey)).toBe(rejected);
  });
});
