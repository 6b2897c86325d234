import { describe, expect, it } from 'vitest';
import { startChatEndpoint } from '#support/chat-endpoint.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { dataTableOf } from '#support/data-table.ts';
import { webFunctions } from '#support/entry-points.ts';
import { allObjects } from '#support/file-bucket.ts';
import { openTenant } from '#support/open-tenant.ts';
import { errorOf, openAiRequests } from '#support/openai-requests.ts';
import { png } from '#support/sample-files.ts';
import { createPublishedAgent } from '#support/service.ts';
import { useScriptedService } from '#support/use-service.ts';

const logged: string[] = [];
const { model, callFor, service, tenant } = await useScriptedService(
  { onLog: ({ line }) => logged.push(line) },
  { openai: true, limits: { sends: '100/s', reads: '100/s' } },
);
const table = closeAfterTests(dataTableOf(service));
const openai = openAiRequests(service, tenant);

it('stores no chat, no message and no file: only the usage, the rate limit and the use of the key', async () => {
  const everything = async () => ({
    items: (await table.readAll()).map(({ pk, sk }) => `${pk} ${sk}`),
    objects: await allObjects(service),
  });
  const before = await everything();
  const url = `data:image/png;base64,${png.toString('base64')}`;
  await openai.complete({
    messages: [
      { role: 'system', content: 'A secret instruction' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'A secret' },
          { type: 'image_url', image_url: { url } },
        ],
      },
    ],
    user: 'ann',
  });
  await openai.stream({ message: 'x'.repeat(200_000) });
  const after = await everything();
  expect(after.objects).toEqual(before.objects);
  const added = after.items.filter((item) => !before.items.includes(item));
  expect(added.length).toBeGreaterThan(0);
  expect(added.filter((item) => !/#RATE#|#USAGE|^KEY#/.test(item))).toEqual([]);
  expect(JSON.stringify(await table.readAll())).not.toContain('A secret');
});

it('the workspaces of two keys see nothing of each other', async () => {
  const other = await openTenant(service, { openai: true });
  const foreign = openAiRequests(service, { ...tenant, apiKey: other.apiKey });
  expect(await foreign.rejection()).toMatchObject({ status: 404, code: 'model_not_found', param: 'model' });
  expect(await errorOf(await foreign.request('GET', `/models/${tenant.agentId}`))).toMatchObject({
    status: 404,
    code: 'model_not_found',
  });
  const { data } = (await (await foreign.request('GET', '/models')).json()) as { data: { id: string }[] };
  expect(data.map(({ id }) => id)).toEqual([other.agentId]);
});

it('an unknown model is not found, as is one that is not published', async () => {
  for (const name of ['gpt-5', '', crypto.randomUUID(), 'x'.repeat(1000)])
    expect(await openai.rejection({ model: name })).toMatchObject({ status: 404, code: 'model_not_found' });
});

describe.runIf(webFunctions === 'all')('a client that goes away', () => {
  it.each([
    ['before the first part', false],
    ['in mid-stream', true],
  ])('%s ends the call of its model within 1.5 s', async (_when, hasStarted) => {
    for (const stream of [true, false]) {
      const message = `Gone ${hasStarted} ${stream}`;
      const called = callFor(message);
      const client = new AbortController();
      const response = openai.send({ message, stream }, { signal: client.signal });
      response.catch(() => undefined);
      const call = await called;
      if (hasStarted) call.chunk('Half');
      if (hasStarted && stream) await (await response).body?.getReader().read();
      const leftAt = performance.now();
      client.abort();
      await call.gone;
      expect(performance.now() - leftAt).toBeLessThan(1500);
    }
  });
});

describe.runIf(webFunctions === 'all')('the web function, called directly', () => {
  it('gives a good key nothing, and believes a signed caller alone', async () => {
    const endpoint = closeAfterTests(await startChatEndpoint(service, model.url));
    const post = (headers: Record<string, string>, fields: object = {}) =>
      fetch(`${endpoint.url}/openai/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({
          model: tenant.agentId,
          messages: [{ role: 'user', content: 'Hi' }],
          ...fields,
        }),
      });
    await expect(post({ Authorization: `Bearer ${tenant.apiKey}` })).rejects.toThrow('fetch failed');
    await expect(post({ 'x-api-key': tenant.apiKey })).rejects.toThrow('fetch failed');
    const signed = endpoint.headersOf(tenant);
    expect((await post(signed)).status).toBe(200);
    const tooLarge = await post(signed, { more: 'x'.repeat(6 * 1024 * 1024) });
    expect([tooLarge.status, await tooLarge.json()]).toMatchObject([413, { error: { code: null } }]);
  });
});

it('neither the messages nor what the provider says of them is logged or returned', async () => {
  const agent = await createPublishedAgent(tenant.workspaceId, { llm_model: 'openai:test' });
  const called = callFor('Fail, canary');
  const rejection = openai.rejection({ model: agent, message: 'Fail, canary' });
  (await called).fail(400, {}, 'canary of the provider');
  expect(JSON.stringify(await rejection)).not.toContain('canary');
  await expect.poll(() => logged.join()).toContain('A reply was not completed');
  expect(logged.join()).not.toContain('canary');
});
