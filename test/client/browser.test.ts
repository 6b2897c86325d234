import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { describe, expect, test } from 'vitest';
import { browserPath, startBrowser } from '#support/browser.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { callsByMessage } from '#support/scripted-model.ts';
import { useScriptedService } from '#support/use-service.ts';

const budgetBytes = 12 * 1024;

const { outputFiles } = await build({
  entryPoints: ['lib/client/index.ts'],
  bundle: true,
  minify: true,
  format: 'esm',
  platform: 'browser',
  target: 'es2022',
  write: false,
});
const code = outputFiles[0]?.text ?? '';

test('the bundle for browsers has at most 12 KB, compressed', () => {
  const bytes = gzipSync(code, { level: 9 }).length;
  console.log(`The bundle of the client library has ${(bytes / 1024).toFixed(1)} KB, compressed`);
  expect(bytes).toBeLessThanOrEqual(budgetBytes);
});

const { service, tenant, model } = await useScriptedService();
model.onCall = (call) => {
  call.chunk('Hello');
  call.finish();
};
const callFor = callsByMessage(model);
const browser = browserPath === undefined ? undefined : closeAfterTests(await startBrowser());
if (browser === undefined) console.log('There is no Chromium, so the test of the library in it is skipped');

/** Runs in the page. Only what it returns comes back. */
const program = `
async ({ apiKey, agent_id }) => {
  const { ChatBatchClient, NotFoundError } = await import('/client.js');
  const client = new ChatBatchClient({ baseUrl: location.origin + '/api/v1', apiKey, externalUserId: 'ada' });
  const chat = await client.chats.create({ name: 'Page', agent_id });
  const file = await client.files.upload(new File(['Text'], 'a.txt'));
  const { text } = await client.messages.send(chat.id, { message: 'Hi', agent_id, attached_file_uuids: [file.uuid] });
  const stream = client.messages.stream(chat.id, { message: 'Stop me', agent_id, resumable: true });
  const types = [];
  for await (const event of stream) {
    types.push(event.type);
    if (event.type === 'response.output_text.delta') await stream.stop();
  }
  const missing = await client.chats.get(999999).catch((error) => error);
  const offline = await new ChatBatchClient({ baseUrl: 'http://127.0.0.1:9', apiKey, maxRetries: 0 }).agents
    .list()
    .catch((error) => error);
  const { results } = await client.batches.submitAndWait(
    { agent_id, requests: [{ custom_id: 'a', message: 'Hi' }] },
    { pollInterval: 50 },
  );
  return {
    text,
    types,
    final: await stream.finalMessage(),
    contents: (await client.messages.list(chat.id)).data.map(({ content }) => content),
    missing: [missing instanceof NotFoundError, missing.name, typeof missing.requestId],
    offline: offline.name,
    result: results[0].response_content,
  };
}`;

describe.skipIf(browser === undefined)('in a browser', () => {
  test('the library sends, uploads, streams, stops, lists and submits', async () => {
    // The playground, whose page has the service's origin, serves the bundle too.
    const page = (await browser?.open())?.page;
    await page?.route('**/client.js', (route) =>
      route.fulfill({ contentType: 'text/javascript', body: code }),
    );
    await page?.goto(new URL(service.baseUrl).origin);
    const called = callFor('Stop me');
    const running = page?.evaluate(
      `(${program})(${JSON.stringify({ apiKey: tenant.apiKey, agent_id: tenant.agentId })})`,
    );
    const call = await called;
    call.chunk('Start');
    expect(await running).toMatchObject({
      text: 'Hello',
      types: ['response.created', 'response.output_text.delta', 'response.output_text.completed'],
      final: { text: 'Start', incomplete: 'stopped' },
      contents: ['Hi', 'Hello', 'Stop me', 'Start'],
      missing: [true, 'NotFoundError', 'string'],
      offline: 'ConnectionError',
      result: 'Hello',
    });
  });
});
