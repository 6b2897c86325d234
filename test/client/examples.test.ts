import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { browserPath, startBrowser } from '#support/browser.ts';
import { certificate } from '#support/certificate.ts';
import { temporaryFolder } from '#support/close-after-tests.ts';
import { openTenant } from '#support/open-tenant.ts';
import { callsByMessage, startScriptedModel } from '#support/scripted-model.ts';
import { createPublishedAgent } from '#support/service.ts';
import { useService } from '#support/use-service.ts';

const service = await useService();
const tenant = await openTenant(service, { titles: false });
const root = join(import.meta.dirname, '../..');
const folder = await temporaryFolder('examples-');
const library = join(folder, 'node_modules/@chat-batch/client');
const hasPython = spawnSync('python3', ['--version']).status === 0;

beforeAll(async () => {
  mkdirSync(library, { recursive: true });
  cpSync(join(root, 'docs/examples'), folder, { recursive: true });
  cpSync(join(root, 'lib/client/package.json'), join(library, 'package.json'));
  const build = spawn(process.execPath, [join(root, 'lib/client/build.ts'), join(library, 'dist')]);
  expect(await once(build, 'exit')).toEqual([0, null]);
});

/** Starts an example with the variables that docs/examples names. */
function start(
  program: string,
  args: string[],
  variables: Record<string, string> = {},
  stderr: 'inherit' | 'pipe' = 'inherit',
): ChildProcess {
  const child = spawn(program, args, {
    cwd: folder,
    env: {
      ...process.env,
      ...{ BASE_URL: service.baseUrl, API_KEY: tenant.apiKey, AGENT_ID: tenant.agentId, ...variables },
    },
    stdio: ['ignore', 'pipe', stderr],
  });
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill();
    await once(child, 'exit');
  });
  return child;
}

/** The lines that an example prints until it ends. */
async function run(program: string, ...args: string[]): Promise<string[]> {
  const child = start(program, args);
  const exit = once(child, 'exit');
  const lines = await Array.fromAsync(createInterface({ input: child.stdout as NodeJS.ReadableStream }));
  expect(await exit).toEqual([0, null]);
  return lines;
}

/** Starts an example that serves, and gives its lines as they come. */
async function serve(file: string, variables: Record<string, string>, program = process.execPath) {
  const child = start(program, [file], { PORT: '0', ...variables });
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]();
  const next = async () => String((await lines.next()).value);
  return { first: await next(), next };
}

const answer = (message: string) => expect.stringContaining(`You wrote: “${message}”`);

it('each program names the variables that are missing', async () => {
  for (const file of ['node/chat.js', 'node/batch.js', 'web-page/server.js']) {
    const child = start(process.execPath, [file], { API_KEY: '', AGENT_ID: '' }, 'pipe');
    const [[code], stderr] = await Promise.all([once(child, 'exit'), text(child.stderr as Readable)]);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^Set the variables API_KEY, AGENT_ID: /)]);
  }
});

describe('in Node.js', () => {
  it('a chat', async () => {
    const lines = await run(process.execPath, 'node/chat.js', 'Who pays?');
    expect(lines).toEqual([answer('Who pays?'), expect.stringMatching(/^\d+ tokens$/)]);
  });

  it('a batch, of a file', async () => {
    const file = join(folder, 'questions.txt');
    writeFileSync(file, 'One?\n\nTwo?\n');
    const lines = await run(process.execPath, 'node/batch.js', file);
    expect(lines).toEqual([answer('One?'), answer('Two?')]);
    expect(lines.map((line) => line.split(':')[0])).toEqual(['line-1', 'line-2']);
  });

  it('a receiver of webhooks, which rejects a call with another signature', async () => {
    const [TLS_KEY, TLS_CERT] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    writeFileSync(TLS_KEY, certificate.key);
    writeFileSync(TLS_CERT, certificate.cert);
    const secret = 'of the receiver';
    const { first, next } = await serve('node/webhook.js', { TLS_KEY, TLS_CERT, WEBHOOK_SECRET: secret });
    const url = `https://localhost:${first.split(' ').at(-1)}/hook`;
    const headers = {
      'x-service-timestamp': '1767225600',
      'x-service-signature': `sha256=${'0'.repeat(64)}`,
    };
    expect((await fetch(url, { method: 'POST', headers, body: '{}' })).status).toBe(400);
    await tenant.client.post('/batches', {
      agent_id: tenant.agentId,
      requests: [{ custom_id: 'only', message: 'Hello' }],
      webhook: { url, secret },
    });
    expect(await next()).toBe('batch.completed: 1 completed');
  });
});

describe.skipIf(browserPath === undefined)('in a browser', () => {
  it('a chat of a page whose key stays at the server of the page', async () => {
    const model = await startScriptedModel();
    onTestFinished(model.close);
    const AGENT_ID = await createPublishedAgent(tenant.workspaceId, {
      ...{ name: 'Scripted', llm_model: model.sharedName },
    });
    const callFor = callsByMessage(model);
    const { first: address } = await serve('web-page/server.js', { AGENT_ID });
    const browser = await startBrowser();
    onTestFinished(browser.close);
    const { page, problems } = await browser.open();
    const requests: string[] = [];
    page.on('request', async (request) => requests.push(JSON.stringify(await request.allHeaders())));
    const input = page.getByLabel('Message');
    const stop = page.getByRole('button', { name: 'Stop' });
    const lines = () => page.locator('main p').allTextContents();
    const ended = () => page.getByRole('button', { name: 'Send' }).waitFor();
    await page.goto(address);
    await input.pressSequentially('Two');
    await input.press('Shift+Enter');
    await input.pressSequentially('lines');
    const called = callFor('Two\nlines');
    await input.press('Enter');
    const call = await called;
    call.chunk('First ');
    await page.getByText('First').waitFor();
    // Enter and a reload send nothing, and the reply goes on.
    await input.fill('Too early');
    await input.press('Enter');
    await page.reload();
    await stop.waitFor();
    call.chunk('last');
    call.finish();
    await page.getByText('First last').waitFor();
    await ended();
    expect(await lines()).toEqual(['Two\nlines', 'First last']);

    const endless = callFor('Endless');
    await input.fill('Endless');
    await input.press('Enter');
    const running = await endless;
    running.chunk('Going');
    await page.getByText('Going').waitFor();
    // Without the id of the reply, the page reads the history until the reply is there.
    await page.evaluate(() => localStorage.clear());
    await page.clock.install();
    await page.reload();
    await page.getByText('The reply is in progress').waitFor();
    running.finish();
    const nextRead = async () => {
      await page.clock.runFor(2000);
      return await page.getByText('Going').count();
    };
    await expect.poll(nextRead).toBe(1);

    const stopped = callFor('Stop me');
    await input.fill('Stop me');
    await input.press('Enter');
    const last = await stopped;
    last.chunk('Half');
    await stop.click();
    await last.gone;
    await ended();
    await page.reload();
    await page.getByText('Half').waitFor();
    expect(await lines()).toEqual(['Two\nlines', 'First last', 'Endless', 'Going', 'Stop me', 'Half']);
    expect(model.calls).toHaveLength(3);
    expect(problems).toEqual([]);
    expect(requests.length).toBeGreaterThan(5);
    expect(requests.join()).not.toContain(tenant.apiKey);
    const statusOf = async (path: string, method = 'POST', headers = {}) =>
      (await fetch(new URL(path, address), { method, headers, ...(method === 'POST' && { body: '{}' }) }))
        .status;
    for (const path of [
      '/api/batches',
      '/api/users',
      '/api/chats/1/messages/2/feedbacks',
      '/../package.json',
    ])
      expect(await statusOf(path)).toBe(404);
    expect(await statusOf('/api/chats', 'GET')).toBe(404);
    expect(await statusOf('/api/chats', 'POST', { 'sec-fetch-site': 'cross-site' })).toBe(403);
  });
});

describe.skipIf(!hasPython)("with Python's standard library", () => {
  it('a chat', async () => {
    const lines = await run('python3', 'python/chat.py', 'Who pays?');
    expect(lines).toEqual([answer('Who pays?'), answer('Say it in other words')]);
  });

  it('a receiver of webhooks, which rejects what is not signed, or old, and prints each event once', async () => {
    const secret = 'of the receiver';
    const { first, next } = await serve('python/webhook.py', { WEBHOOK_SECRET: secret }, 'python3');
    const post = async (completed_requests: number, age = 0, key = secret) => {
      const body = JSON.stringify({
        event: 'batch.completed',
        data: { id: `of ${completed_requests}`, completed_requests },
      });
      const timestamp = String(Math.floor(Date.now() / 1000) - age);
      const signature = createHmac('sha256', key).update(`${timestamp}.${body}`).digest('hex');
      const headers = {
        'x-service-timestamp': timestamp,
        'x-service-signature': `sha256=${signature}`,
      };
      const url = `http://127.0.0.1:${first.split(' ').at(-1)}/hook`;
      return (await fetch(url, { method: 'POST', headers, body })).status;
    };
    expect([await post(1, 0, 'wrong'), await post(1, 301), await post(1, -310)]).toEqual([400, 400, 400]);
    expect([await post(1, 200), await post(1), await post(2)]).toEqual([204, 204, 204]);
    expect([await next(), await next()]).toEqual(
      [1, 2].map((count) => `batch.completed: ${count} completed`),
    );
  });

  it('a batch', async () => {
    const lines = await run('python3', 'python/batch.py');
    expect(lines.slice(-3)).toEqual([
      answer('What is a lease?'),
      answer('What is a deposit?'),
      answer('What is rent?'),
    ]);
  });
});
