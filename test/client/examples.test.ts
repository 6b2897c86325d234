import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { browserPath, startBrowser } from '#support/browser.ts';
import { certificate } from '#support/certificate.ts';
import { temporaryFolder } from '#support/close-after-tests.ts';
import { openTenant } from '#support/open-tenant.ts';
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
function start(program: string, args: string[], variables: Record<string, string> = {}): ChildProcess {
  const child = spawn(program, args, {
    cwd: folder,
    env: {
      ...process.env,
      ...{ BASE_URL: service.baseUrl, API_KEY: tenant.apiKey, AGENT_ID: tenant.agentId, ...variables },
    },
    stdio: ['ignore', 'pipe', 'inherit'],
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
async function serve(file: string, variables: Record<string, string>) {
  const child = start(process.execPath, [file], { PORT: '0', ...variables });
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]();
  const next = async () => String((await lines.next()).value);
  return { first: await next(), next };
}

const answer = (message: string) => expect.stringContaining(`You wrote: “${message}”`);

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
    const { first: address } = await serve('web-page/server.js', {});
    const browser = await startBrowser();
    onTestFinished(browser.close);
    const { page, problems } = await browser.open();
    const requests: string[] = [];
    page.on('request', async (request) => requests.push(JSON.stringify(await request.allHeaders())));
    await page.goto(address);
    for (const message of ['First?', 'Second?']) {
      await page.getByLabel('Message').fill(message);
      await page.getByRole('button', { name: 'Send' }).click();
      await page.getByText(`You wrote: “${message}”`).waitFor();
      await page.getByRole('button', { name: 'Send' }).waitFor();
    }
    expect(problems).toEqual([]);
    expect(requests.length).toBeGreaterThan(5);
    expect(requests.join()).not.toContain(tenant.apiKey);
    for (const path of [
      '/api/batches',
      '/api/users',
      '/api/chats/1/messages/2/feedbacks',
      '/../package.json',
    ])
      expect((await fetch(new URL(path, address), { method: 'POST', body: '{}' })).status).toBe(404);
  });
});

describe.skipIf(!hasPython)("with Python's standard library", () => {
  it('a chat', async () => {
    const lines = await run('python3', 'python/chat.py', 'Who pays?');
    expect(lines).toEqual([answer('Who pays?'), answer('Say it in other words')]);
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
