import { execFile, spawnSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { agentctlOf } from '#support/agentctl.ts';
import { temporaryFolder } from '#support/close-after-tests.ts';
import { listenLocally } from '#support/listen-locally.ts';
import { useService } from '#support/use-service.ts';
import { openWebhookTenant } from '#support/webhook-batches.ts';
import { expectedSignature, type WebhookCall } from '#support/webhook-receiver.ts';

const folder = await temporaryFolder('service-webhooks-');
const service = await useService();
const tenant = await openWebhookTenant(service);
const { run, start } = agentctlOf(service);

describe('agentctl webhooks listen', () => {
  /** A server over plain http on this machine, with the raw calls that it gets. */
  const startServer = async (respond: (response: ServerResponse, number: number) => void) => {
    const calls: { headers: IncomingHttpHeaders; rawHeaders: string[]; body: Buffer }[] = [];
    const server = createServer(async (request, response) => {
      const body = Buffer.concat(await Array.fromAsync(request));
      calls.push({ headers: request.headers, rawHeaders: request.rawHeaders, body });
      respond(response, calls.length);
    });
    const { url, close } = await listenLocally(server);
    onTestFinished(() => close());
    return { url, calls };
  };
  const listen = async (...args: string[]) => {
    const command = await start('webhooks', 'listen', '--port', '0', ...args);
    onTestFinished(() => void command.child.kill('SIGKILL'));
    await command.printed('"url"');
    const { url } = JSON.parse(command.output()) as { url: string };
    return { ...command, url };
  };

  it('receives over plain http, verifies with the secret of the batch, prints and forwards each call as it came', async () => {
    const secret = 'a secret ünd more';
    const { url: forward, calls } = await startServer((response, number) =>
      response.writeHead(number === 1 ? 503 : 204, { 'Retry-After': '1' }).end('ignored'),
    );
    const listener = await listen('--forward', `${forward}/hooks?a=b`);
    const batch = await tenant.create({ url: listener.url, secret });
    expect(await tenant.closed(batch)).toMatchObject({ state: 'delivered' });
    expect(await tenant.summaries(batch)).toEqual(['1/1 503', '2/1 204']);
    const unsigned = await tenant.create({ url: listener.url });
    expect(await tenant.closed(unsigned)).toMatchObject({ state: 'delivered' });
    const [first, second, third] = calls;
    if (first === undefined || second === undefined) throw new Error('No call');
    expect(second.body).toEqual(first.body);
    for (const { headers, body } of [first, second])
      expect(headers['x-service-signature']).toBe(
        expectedSignature(secret, { headers, body: body.toString() } as WebhookCall),
      );
    expect(first.rawHeaders).toEqual(
      expect.arrayContaining(['X-Service-Event-Id', 'User-Agent', 'agent-service-webhooks', 'webhook-id']),
    );
    expect(third?.headers).not.toHaveProperty('x-service-signature');
    const printed = listener.output().trim().split('\n').slice(1);
    expect(printed.map((line) => JSON.parse(line))).toEqual([
      { ...JSON.parse(first.body.toString()), signed: true, forwarded: 503 },
      { ...JSON.parse(first.body.toString()), signed: true, forwarded: 204 },
      { ...JSON.parse(third?.body.toString() ?? ''), signed: false, forwarded: 204 },
    ]);

    // The same call with one byte more, from a page, and of no batch.
    const { 'content-length': _, host: __, connection: ___, ...headers } = first.headers;
    const post = async (body: Uint8Array<ArrayBuffer> | string, further = {}) => {
      const sent = { ...headers, ...further } as Record<string, string>;
      return (await fetch(listener.url, { method: 'POST', body, headers: sent })).status;
    };
    const bytes = new Uint8Array(first.body);
    expect(await post(bytes)).toBe(204);
    expect(await post(Buffer.concat([first.body, Buffer.from(' ')]))).toBe(400);
    expect(await post(bytes, { Origin: 'https://evil.example.com' })).toBe(403);
    expect(await post('{"data":{}}')).toBe(400);
    expect(await post('x'.repeat(1024 * 1024 + 1))).toBe(413);
    expect((await fetch(listener.url)).status).toBe(405);
    expect(calls).toHaveLength(4);
    listener.child.kill('SIGINT');
    const { code, stdout } = await listener.ended;
    expect([code, JSON.parse(stdout.trim().split('\n').at(-1) ?? '')]).toEqual([0, { received: 4 }]);
  });

  it('verifies with a given secret, without a service, and says that the server cannot be reached', async () => {
    const listener = await listen('--secret', vectorSecret, '--forward', 'http://127.0.0.1:9/');
    const body = JSON.stringify({ event: 'batch.completed', data: { id: 'b' } });
    const timestamp = String(Math.floor(Date.now() / 1000));
    const signed = (secret: string) => ({
      'X-Service-Timestamp': timestamp,
      'X-Service-Signature': expectedSignature(secret, {
        headers: { 'x-service-timestamp': timestamp },
        body,
      } as unknown as WebhookCall),
    });
    const post = async (headers: Record<string, string>) =>
      (await fetch(listener.url, { method: 'POST', body, headers })).status;
    expect(await post(signed(vectorSecret))).toBe(502);
    expect(await post(signed('another'))).toBe(400);
    expect(await post({})).toBe(400);
    listener.child.kill('SIGTERM');
    expect((await listener.ended).code).toBe(0);

    const busy = new URL(service.baseUrl).port;
    expect(await run('webhooks', 'listen', '--port', busy)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`127.0.0.1:${busy} cannot be used: address already in use`),
    });
    for (const wrong of [
      ['--port', '65536'],
      ['--forward', 'example.com'],
    ])
      expect((await run('webhooks', 'listen', ...wrong)).code).toBe(2);
  });
});

const vectorSecret = 'correct horse battery staple';

describe('docs/webhooks.md', async () => {
  const page = await readFile(resolve(import.meta.dirname, '../../docs/webhooks.md'), 'utf8');
  const vectorValue = (name: string) => [name, new RegExp(`^${name} {2,}(.*)$`, 'm').exec(page)?.[1] ?? ''];
  const names = ['secret', 'timestamp', 'body', 'signature'] as const;
  const vector: Record<(typeof names)[number], string> = Object.fromEntries(names.map(vectorValue));
  const codeOf = (language: string): string =>
    new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(page)?.[1] ?? '';
  const verify = (signature: string, body: string) =>
    spawnSync(
      process.execPath,
      [
        resolve(import.meta.dirname, '../../bin/agentctl.js'),
        ...['webhooks', 'verify', '--secret', vector.secret, '--timestamp', vector.timestamp],
        ...['--signature', signature],
      ],
      { input: body, encoding: 'utf8' },
    );

  it('has a test vector that is right, by itself and by agentctl', () => {
    for (const value of Object.values(vector)) expect(value.length).toBeGreaterThan(5);
    const digest = createHmac('sha256', vector.secret).update(`${vector.timestamp}.${vector.body}`);
    expect(`sha256=${digest.digest('hex')}`).toBe(vector.signature);
    const right = verify(vector.signature, vector.body);
    expect([right.status, right.stdout]).toEqual([0, expect.stringContaining('The signature is right.')]);
    const wrong = verify(vector.signature, `${vector.body}\n`);
    expect([wrong.status, wrong.stdout]).toEqual([1, expect.stringContaining('right without the newline')]);
    expect(verify(`sha256=${'0'.repeat(64)}`, vector.body).status).toBe(1);
  });

  it('has code for Node.js that tells right from wrong', async () => {
    const file = join(folder, 'receiver.mjs');
    await writeFile(file, codeOf('js'));
    const { isSigned, isRecent } = (await import(file)) as {
      isSigned(secret: string, headers: Record<string, string>, body: Buffer): boolean;
      isRecent(headers: Record<string, string>): boolean;
    };
    const headers = { 'x-service-timestamp': vector.timestamp, 'x-service-signature': vector.signature };
    expect(isSigned(vector.secret, headers, Buffer.from(vector.body))).toBe(true);
    expect(isSigned('another', headers, Buffer.from(vector.body))).toBe(false);
    expect(isSigned(vector.secret, headers, Buffer.from(`${vector.body} `))).toBe(false);
    expect(isSigned(vector.secret, {}, Buffer.from(vector.body))).toBe(false);
    expect(isRecent(headers)).toBe(false);
    expect(isRecent({ 'x-service-timestamp': String(Math.floor(Date.now() / 1000)) })).toBe(true);
  });

  it('has code for Python that tells right from wrong', async () => {
    const file = join(folder, 'receiver.py');
    const { secret, timestamp, body, signature } = vector;
    const headers = { 'X-Service-Timestamp': timestamp, 'X-Service-Signature': signature };
    await writeFile(
      file,
      `${codeOf('python')}
import json
secret, headers, body = json.loads(${JSON.stringify(JSON.stringify([secret, headers, body]))})
print(
    is_signed(secret, headers, body.encode()),
    is_signed("another", headers, body.encode()),
    is_signed(secret, headers, body.encode() + b" "),
    is_signed(secret, {}, body.encode()),
    is_recent(headers),
)
`,
    );
    const { stdout } = await promisify(execFile)('python3', [file]);
    expect(stdout.trim()).toBe('True False False False False');
  });
});
