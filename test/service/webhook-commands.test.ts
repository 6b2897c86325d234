import { execFile, spawnSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it, onTestFinished } from 'vitest';
import { unwrapWebhook } from '#lib/client/webhooks.ts';
import { agentctlOf } from '#support/agentctl.ts';
import { temporaryFolder } from '#support/close-after-tests.ts';
import { listenLocally } from '#support/listen-locally.ts';
import { useService } from '#support/use-service.ts';
import { openWebhookTenant } from '#support/webhook-batches.ts';
import {
  expectedSignature,
  type Responder,
  startWebhookReceiver,
  status,
  type WebhookCall,
} from '#support/webhook-receiver.ts';

interface Shown {
  event_id: string;
  state: string;
  round: number;
  attempts: { number: number; round: number; at: string; status: number | null; failure: string | null }[];
}

const folder = await temporaryFolder('service-webhooks-');
const service = await useService({
  variables: { WEBHOOK_RETRY_SECONDS: '0.5', WEBHOOK_TIMEOUT_SECONDS: '1' },
});
const tenant = await openWebhookTenant(service);
const { run, json, start } = agentctlOf(service);

async function receive(...responses: Responder[]) {
  const receiver = await startWebhookReceiver(...responses);
  onTestFinished(receiver.close);
  return receiver;
}

describe('agentctl webhooks', () => {
  it('shows every attempt, and sends the event once more under the same id', async () => {
    const receiver = await receive(status(500), status(502), status(200));
    const batch = await tenant.create({ url: receiver.url });
    await tenant.closed(batch);
    const exhausted = await json<Shown>('webhooks', 'deliveries', batch.id);
    expect(exhausted).toMatchObject({ event_id: `evt_${batch.id}`, state: 'exhausted', round: 1 });
    expect(exhausted.attempts).toMatchObject([
      { number: 1, status: 500 },
      { number: 2, status: 502 },
    ]);
    expect(await json<Shown>('webhooks', 'resend', batch.id)).toMatchObject({ state: 'pending', round: 2 });
    await receiver.called(3);
    expect(await tenant.closed(batch)).toMatchObject({ state: 'delivered' });
    expect(await tenant.summaries(batch)).toEqual(['1/1 500', '2/1 502', '3/2 200']);
    expect(new Set(receiver.calls.map(({ headers }) => headers['x-service-event-id'])).size).toBe(1);
    expect(new Set(receiver.calls.map(({ body }) => body)).size).toBe(1);

    // A delivered webhook can be sent again too.
    await json('webhooks', 'resend', batch.id);
    await receiver.called(4);
    await tenant.closed(batch);
    expect((await json<Shown>('webhooks', 'deliveries', batch.id)).attempts).toHaveLength(4);

    const audit = await json<{ entries: object[] }>('audit', '--workspace', tenant.workspaceId);
    const actor = expect.stringContaining('local user ');
    const resent = { action: 'webhook resent', target_id: batch.id, actor };
    expect(audit.entries.slice(-2)).toMatchObject([
      { ...resent, changes: { round: 2 } },
      { ...resent, changes: { round: 3 } },
    ]);
  });

  it('signs with a replaced secret, and with the one before for receivers that do not know it yet', async () => {
    const [former, replaced, last] = ['former', 'replaced', 'last'].map(
      (name) => `whsec_${Buffer.from(`the ${name} secret`).toString('base64')}`,
    ) as [string, string, string];
    const receiver = await receive(status(500), status(500), status(200));
    const batch = await tenant.create({ url: `${receiver.url}/token`, secret: former });
    await tenant.closed(batch);
    const sendWith = async (secret: string, count: number) => {
      const file = join(folder, 'secret.txt');
      await writeFile(file, `${secret}\n`);
      const { code, stdout } = await run('webhooks', 'replace-secret', batch.id, '--file', file);
      expect([code, JSON.parse(stdout)]).toEqual([0, { batch_id: batch.id, replaced: true }]);
      await json('webhooks', 'resend', batch.id);
      await receiver.called(count);
      expect(await tenant.closed(batch)).toMatchObject({ state: 'delivered' });
      return receiver.calls[count - 1] as WebhookCall;
    };
    const isSignedWith = (secret: string, { body, headers }: WebhookCall) => {
      const check = new Webhook(secret);
      try {
        return Boolean(check.verify(body, headers));
      } catch {
        return false;
      }
    };
    const [first] = receiver.calls;
    if (first === undefined) throw new Error('No call');
    expect([former, replaced].map((secret) => isSignedWith(secret, first))).toEqual([true, false]);

    const second = await sendWith(replaced, 3);
    expect(second.path).toBe('/hook/token');
    expect([former, replaced].map((secret) => isSignedWith(secret, second))).toEqual([true, true]);
    // The service's own signature is of the new secret, so a receiver of it knows both before the change.
    expect(second.headers['x-service-signature']).toBe(expectedSignature(replaced, second));
    const both = { secret: [former, replaced] };
    for (const call of [first, second])
      expect(await unwrapWebhook(call.body, call.headers, both)).toMatchObject({ id: `evt_${batch.id}` });

    // The command may be repeated, and the secret of two changes ago ends.
    for (const [secret, count] of [
      [replaced, 4],
      [last, 5],
    ] as const)
      await sendWith(secret, count);
    const [fourth, fifth] = receiver.calls.slice(3) as [WebhookCall, WebhookCall];
    const all = [former, replaced, last];
    expect(all.map((secret) => isSignedWith(secret, fourth))).toEqual([true, true, false]);
    expect(all.map((secret) => isSignedWith(secret, fifth))).toEqual([false, true, true]);

    const audit = await json<{ entries: { action: string }[] }>('audit', '--workspace', tenant.workspaceId);
    const entries = audit.entries.filter(({ action }) => action === 'webhook secret replaced');
    expect(entries).toHaveLength(3);
    expect(entries[0]).toMatchObject({ target_id: batch.id, changes: {} });
    expect(JSON.stringify(audit)).not.toMatch(/whsec_|token/);
  });

  it('replaces a secret of which the file is usable alone', async () => {
    const receiver = await receive();
    const batch = await tenant.create({ url: receiver.url });
    await tenant.closed(batch);
    const file = join(folder, 'unusable.txt');
    for (const [text, reason] of [
      ['\n', 'The secret must have 1 to 255 characters'],
      ['x'.repeat(256), 'The secret must have 1 to 255 characters'],
    ] as const) {
      await writeFile(file, text);
      const end = await run('webhooks', 'replace-secret', batch.id, '--file', file);
      expect(end).toMatchObject({ code: 1, stderr: expect.stringContaining(reason) });
    }
    const missing = await run('webhooks', 'replace-secret', batch.id, '--file', join(folder, 'missing.txt'));
    expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining('cannot be read') });
  });

  it('says so when there is nothing to show or to send', async () => {
    const unknown = await run('webhooks', 'deliveries', '0197f2ac-8a4e-7c1b-9d52-3f6e1b0a7c44');
    expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('No batch 0197f2ac') });
    const receiver = await receive();
    const batch = await tenant.create({ url: receiver.url, events: ['cancelled'] });
    await expect.poll(async () => (await tenant.batch(batch)).status).toBe('completed');
    for (const command of ['deliveries', 'resend']) {
      const { code, stderr } = await run('webhooks', command, batch.id);
      expect(code).toBe(1);
      expect(stderr).toMatch(/Nothing/);
    }
    expect(receiver.calls).toEqual([]);
  });
});

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
