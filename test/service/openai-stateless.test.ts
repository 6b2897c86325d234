import { once } from 'node:events';
import { request } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { noCounts } from '#domain/workspaces/usage.ts';
import { startChatEndpoint } from '#support/chat-endpoint.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { dataTableOf } from '#support/data-table.ts';
import { webFunctions } from '#support/entry-points.ts';
import { allObjects } from '#support/file-bucket.ts';
import { replyWith } from '#support/model-server.ts';
import { openTenant } from '#support/open-tenant.ts';
import { linesOf, openAiRequests } from '#support/openai-requests.ts';
import { png } from '#support/sample-files.ts';
import type { ModelCall } from '#support/scripted-model.ts';
import { createPublishedAgent } from '#support/service.ts';
import { summarize } from '#support/usage-today.ts';
import { useScriptedService } from '#support/use-service.ts';

const logged: string[] = [];
const { model, callFor, service, tenant } = await useScriptedService(
  { onLog: ({ line }) => logged.push(line) },
  { openai: true, limits: { sends: '100/s', reads: '100/s' } },
);
const table = closeAfterTests(dataTableOf(service));
const openai = openAiRequests(service, tenant);

const usageOf = async (workspaceId: string) => (await summarize({ workspaceId, by: 'agent' })).lines;

const everything = async () => ({
  items: (await table.readAll()).map(({ pk, sk }) => `${pk} ${sk}`),
  objects: await allObjects(service),
});

/** Checks that only the usage, the rate limit and the use of the key were stored. */
async function checkStored(before: Awaited<ReturnType<typeof everything>>): Promise<void> {
  const after = await everything();
  expect(after.objects).toEqual(before.objects);
  const added = after.items.filter((item) => !before.items.includes(item));
  expect(added.filter((item) => !/#RATE#|#USAGE|^KEY#/.test(item))).toEqual([]);
}

it('stores no chat, no message and no file: only the usage, the rate limit and the use of the key', async () => {
  const before = await everything();
  const text = { type: 'text', text: 'A secret' };
  const url = `data:image/png;base64,${png.toString('base64')}`;
  await openai.complete({
    messages: [
      { role: 'system', content: 'A secret instruction' },
      { role: 'user', content: [text, { type: 'image_url', image_url: { url } }] },
    ],
    user: 'ann',
  });
  await openai.stream({ message: 'x'.repeat(200_000) });
  await checkStored(before);
  expect((await everything()).items.length).toBeGreaterThan(before.items.length);
  expect(JSON.stringify(await table.readAll())).not.toContain('A secret');
});

it('an unknown model is not found, as is one that is not published', async () => {
  for (const name of ['gpt-5', '', crypto.randomUUID(), 'x'.repeat(1000)])
    expect(await openai.rejection({ model: name })).toMatchObject({ status: 404, code: 'model_not_found' });
  const { message } = await openai.rejection({ model: 'x'.repeat(1_000_000) });
  expect(message.length).toBeLessThan(300);
});

describe.runIf(webFunctions === 'all')('a client that goes away', () => {
  it.each([
    ['before the first part', false],
    ['in mid-stream', true],
  ])('%s ends the call of its model within 1.5 s, and leaves nothing', async (_when, hasStarted) => {
    const leaving = await openTenant(service, { openai: true, model: 'openai:test' });
    const requests = openAiRequests(service, leaving);
    const before = await everything();
    for (const stream of [true, false]) {
      const message = `Gone ${hasStarted} ${stream}`;
      const called = callFor(message);
      const client = new AbortController();
      const response = requests.send({ message, stream }, { signal: client.signal });
      response.catch(() => undefined);
      const call = await called;
      if (hasStarted) call.chunk('Half');
      if (hasStarted && stream) {
        const reader = (await response).body?.pipeThrough(new TextDecoderStream()).getReader();
        for (let text = ''; !text.includes('Half'); ) text += (await reader?.read())?.value ?? '';
      }
      const leftAt = performance.now();
      client.abort();
      await call.gone;
      expect(performance.now() - leftAt).toBeLessThan(1500);
    }
    // The usage of both replies is the last that is stored.
    await expect.poll(async () => (await usageOf(leaving.workspaceId))[0]?.counts.turns).toBe(2);
    await checkStored(before);
  });
});

describe.runIf(webFunctions === 'all')('the web function, called directly', () => {
  async function openEndpoint() {
    const endpoint = await startChatEndpoint(service, model.url);
    onTestFinished(() => endpoint.close());
    const post = (
      headers: Record<string, string>,
      { message = 'Hi', ...fields }: Record<string, unknown> = {},
    ) => {
      const messages = [{ role: 'user', content: message }];
      return fetch(`${endpoint.url}/openai/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ model: tenant.agentId, messages, ...fields }),
      });
    };
    return { endpoint, post };
  }

  it('takes a body of up to 6 MB, and reads none of a caller that is rejected', async () => {
    const { endpoint, post } = await openEndpoint();
    const signed = endpoint.headersOf(tenant);
    expect((await post(signed)).status).toBe(200);
    const tooLarge = await post(signed, { more: 'x'.repeat(6 * 1024 * 1024) });
    expect([tooLarge.status, await tooLarge.json()]).toMatchObject([413, { error: { code: null } }]);
    // The body of a rejected caller is not read.
    const rejected = endpoint.headersOf({ rejection: 'unauthenticated' });
    expect((await post(rejected, { more: 'x'.repeat(7 * 1024 * 1024) })).status).toBe(401);
    expect((await post(signed)).status).toBe(200);
  });

  it('tells a stream that Lambda ends it, and rejects new requests in OpenAI’s form while it ends', async () => {
    const { endpoint, post } = await openEndpoint();
    const called = callFor('Until the end');
    const sending = post(endpoint.headersOf(tenant), { message: 'Until the end', stream: true });
    (await called).chunk('Half');
    const response = await sending;
    // A request whose body has not come yet, so that the process does not end at once.
    const waiting = request(`${endpoint.url}/openai/chat/completions`, {
      method: 'POST',
      headers: { ...endpoint.headersOf(tenant), 'Content-Length': '100', Expect: '100-continue' },
    }).on('error', () => undefined);
    waiting.flushHeaders();
    await once(waiting, 'continue');
    endpoint.signal('SIGUSR2');
    await expect.poll(() => endpoint.lines.join()).toContain('Outside of any request');
    const rejected = await post(endpoint.headersOf(tenant));
    expect([rejected.status, rejected.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await rejected.json()).toMatchObject({ error: { type: 'server_error' } });
    const { text, errors, isDone } = await linesOf(response);
    expect([text, isDone]).toEqual(['Half', false]);
    expect(errors).toMatchObject([
      { message: expect.stringMatching(/^The reply was interrupted, request id/) },
    ]);
    waiting.destroy();
    await endpoint.exit;
  });
});

it('counts as a turn of the key and the agent, with all its tokens; a failed one counts as failed', async () => {
  const counted = await openTenant(service, { openai: true, model: 'openai:test' });
  const requests = openAiRequests(service, counted);
  const finish = (call: ModelCall) => replyWith(call, 'Yes', { prompt_tokens: 10, completion_tokens: 2 });
  void callFor('Counted whole').then(finish);
  await requests.complete({ message: 'Counted whole' });
  void callFor('Counted stream').then(finish);
  await requests.stream({ message: 'Counted stream' });
  void callFor('Failed').then((call) => call.fail(400));
  await requests.rejection({ message: 'Failed' });
  await requests.rejection({ n: 2 });
  await expect
    .poll(() => usageOf(counted.workspaceId))
    .toMatchObject([
      {
        ...{ name: counted.agentId, counts: { ...noCounts, turns: 3, failedTurns: 1 } },
        calls: { calls: 2, promptTokens: 20, completionTokens: 4, cachedTokens: 0, writtenTokens: 0 },
      },
    ]);
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
