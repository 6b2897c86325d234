import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it, onTestFinished } from 'vitest';
import { unwrapWebhook } from '#lib/client/webhooks.ts';
import { agentctlOf } from '#support/agentctl.ts';
import { temporaryFolder } from '#support/close-after-tests.ts';
import { dataTableOf } from '#support/data-table.ts';
import { summaryOf } from '#support/open-tenant.ts';
import { findPort } from '#support/upload-endpoint.ts';
import { useService } from '#support/use-service.ts';
import { openWebhookTenant } from '#support/webhook-batches.ts';
import {
  expectedSignature,
  type Responder,
  startWebhookReceiver,
  status,
  type WebhookCall,
  type WebhookReceiver,
} from '#support/webhook-receiver.ts';

interface Shown {
  event_id: string;
  state: string;
  round: number;
  attempts: { number: number; round: number; at: string; status: number | null; failure: string | null }[];
}

const folder = await temporaryFolder('service-webhooks-');
const secret = 'kept to ourselves, é ';
const logged: string[] = [];
const service = await useService({
  // The first attempt is immediate; the retries follow after 0.5 s and 2 s.
  variables: { WEBHOOK_RETRY_SECONDS: '0.5,2', WEBHOOK_TIMEOUT_SECONDS: '1' },
  onLog: ({ line }) => logged.push(line),
});
const tenant = await openWebhookTenant(service);
const { run, json } = agentctlOf(service);

async function receive(...responses: Responder[]): Promise<WebhookReceiver> {
  const receiver = await startWebhookReceiver(...responses);
  onTestFinished(receiver.close);
  return receiver;
}

describe('a call', () => {
  it('tells what has become of the batch, once', async () => {
    const { calls, url } = await receive();
    const created = await tenant.create({ url });
    expect(await tenant.closed(created)).toMatchObject({ state: 'delivered', attempts: 1 });
    const batch = await tenant.batch(created);
    expect(calls.map(({ method, path }) => `${method} ${path}`)).toEqual(['POST /hook']);
    expect(calls[0]?.payload).toEqual({
      event: 'batch.completed',
      timestamp: batch.completed_at,
      data: {
        ...{ id: batch.id, status: 'completed', metadata: {} },
        ...{ total_requests: 1, completed_requests: 1, failed_requests: 0 },
      },
    });
    expect(calls[0]?.headers).toMatchObject({
      'content-type': 'application/json',
      'x-service-event-id': `evt_${batch.id}`,
      'webhook-id': `evt_${batch.id}`,
    });
    expect(calls[0]?.headers).toHaveProperty('webhook-timestamp');
    for (const name of ['x-service-signature', 'x-service-timestamp', 'webhook-signature'])
      expect(calls[0]?.headers).not.toHaveProperty(name);
    const [attempt] = await tenant.attempts(batch);
    expect(attempt).toMatchObject({ number: 1, round: 1, status: 200, failure: null });
    expect(attempt?.duration).toBeGreaterThanOrEqual(0);
  });

  it('is signed with the secret', async () => {
    const before = Math.floor(Date.now() / 1000);
    const { calls, url } = await receive();
    await tenant.closed(await tenant.create({ url, secret }));
    const [call] = calls as [WebhookCall];
    expect(call.headers['x-service-signature']).toBe(expectedSignature(secret, call));
    const timestamp = Number(call.headers['x-service-timestamp']);
    expect(timestamp).toBeGreaterThanOrEqual(before);
    expect(timestamp).toBeLessThanOrEqual(call.at / 1000);
    new Webhook(Buffer.from(secret), { format: 'raw' }).verify(call.body, call.headers);
  });

  it('goes to an address of any characters, however long address and secret may be', async () => {
    // 4.7 KB together, more than KMS encrypts in one call.
    const longest = 'é'.repeat(255);
    const { calls, url } = await receive();
    const address = `${url}/`.padEnd(2048, 'ж');
    await tenant.closed(await tenant.create({ url: address, secret: longest }));
    const [call] = calls as [WebhookCall];
    expect(call.path).toBe(new URL(address).pathname);
    expect(call.headers['x-service-signature']).toBe(expectedSignature(longest, call));
  });

  it('leaves no trace of the address and the secret in the table, in logs, executions and answers', async () => {
    const { url, port, calls } = await receive(status(500), status(200));
    const address = `${url}/path-token?key=query-token`;
    const response = await tenant.submit({ url: address, secret });
    const batch = response.body.data;
    await tenant.closed(batch);
    expect(calls.map(({ path }) => path)).toEqual(Array(2).fill('/hook/path-token?key=query-token'));
    const closed = address.replace(String(port), String(await findPort()));
    const unreachable = await tenant.create({ url: closed, secret });
    await tenant.closed(unreachable);
    const shown = await tenant.client.get(`/batches/${batch.id}`);
    const attempts = await Promise.all([batch, unreachable].map(tenant.attempts));
    expect(attempts.flat()).toHaveLength(5);
    expect(JSON.stringify([response.body, shown.body])).not.toMatch(/kept to ourselves|webhook|secret/);
    expect(logged.length).toBeGreaterThan(0);
    const items = JSON.stringify(await dataTableOf(service).readAll());
    const executions = await readFile(join(service.dataDir, 'executions.jsonl'), 'utf8');
    for (const id of [batch.id, unreachable.id])
      for (const text of [items, executions]) expect(text).toContain(id);
    for (const text of [items, executions, logged.join('\n'), JSON.stringify(attempts)])
      for (const trace of ['kept to ourselves', 'path-token', 'query-token', '/hook', secret])
        for (const form of [trace, Buffer.from(trace).toString('base64').replace(/=*$/, '')])
          expect(text).not.toContain(form);
  });
});

describe('a receiver', () => {
  it('that fails or redirects is called again, with the same event and fresh signatures', async () => {
    const other = await receive();
    const redirect = status(307, { Location: other.url });
    const { calls, url } = await receive(redirect, (response) => response.destroy(), status(204));
    const batch = await tenant.create({ url, secret });
    expect(await tenant.closed(batch)).toMatchObject({ state: 'delivered', attempts: 3 });
    expect(await tenant.summaries(batch)).toEqual(['1/1 307', '2/1 The server cannot be reached', '3/1 204']);
    expect(new Set(calls.map(({ body }) => body)).size).toBe(1);
    expect(new Set(calls.map(({ headers }) => headers['x-service-event-id'])).size).toBe(1);
    expect(new Set(calls.map(({ headers }) => headers['x-service-timestamp'])).size).toBe(3);
    for (const call of calls)
      expect(call.headers['x-service-signature']).toBe(expectedSignature(secret, call));
    expect((calls[2]?.at ?? 0) - (calls[1]?.at ?? 0)).toBeGreaterThan(1800);
    expect(other.connections()).toBe(0);
  });

  it('that does not answer in time, or drips its answer, is called again', async () => {
    const drip: Responder = (response) => {
      const bytes = [...'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'];
      const timer = setInterval(() => response.socket?.write(bytes.shift() ?? ''), 100);
      response.socket?.once('close', () => clearInterval(timer));
    };
    const { url } = await receive(() => undefined, drip, status(200));
    const batch = await tenant.create({ url });
    await tenant.closed(batch);
    expect(await tenant.summaries(batch)).toEqual([
      '1/1 It took longer than 1 seconds',
      '2/1 It took longer than 1 seconds',
      '3/1 200',
    ]);
    const [first] = await tenant.attempts(batch);
    expect(first?.duration).toBeGreaterThanOrEqual(950);
    expect(first?.duration).toBeLessThan(3000);
  });

  it('that says 200 has the event, however long it goes on talking', async () => {
    const { calls, url } = await receive((response) => {
      response.writeHead(200);
      const timer = setInterval(() => response.write('.'), 50);
      response.once('close', () => clearInterval(timer));
    });
    expect(await tenant.closed(await tenant.create({ url }))).toMatchObject({ state: 'delivered' });
    expect(calls).toHaveLength(1);
  });

  it('without a certificate for its name gets nothing', async () => {
    const { calls, port } = await receive();
    const exhausted = () => logged.filter((line) => /"WebhooksExhausted":1.*"WebhooksGivenUp":1/.test(line));
    const before = exhausted().length;
    const batch = await tenant.create({ url: `https://127.0.0.1:${port}/hook` });
    expect(await tenant.closed(batch)).toMatchObject({ state: 'exhausted', attempts: 3 });
    await expect.poll(() => exhausted().length).toBe(before + 1);
    expect(await tenant.summaries(batch)).toEqual(
      [1, 2, 3].map((number) => `${number}/1 The server's certificate is not valid for this address`),
    );
    expect(calls).toEqual([]);
  });
});

describe('agentctl webhooks', () => {
  it('shows every attempt, and sends the event once more under the same id', async () => {
    const receiver = await receive(status(500), status(502), status(503), status(200));
    const batch = await tenant.create({ url: receiver.url });
    await tenant.closed(batch);
    const exhausted = await json<Shown>('webhooks', 'deliveries', batch.id);
    expect(exhausted).toMatchObject({ event_id: `evt_${batch.id}`, state: 'exhausted', round: 1 });
    expect(exhausted.attempts).toMatchObject([
      { number: 1, status: 500 },
      { number: 2, status: 502 },
      { number: 3, status: 503 },
    ]);
    expect(await json<Shown>('webhooks', 'resend', batch.id)).toMatchObject({ state: 'pending', round: 2 });
    await receiver.called(4);
    expect(await tenant.closed(batch)).toMatchObject({ state: 'delivered' });
    expect(await tenant.summaries(batch)).toEqual(['1/1 500', '2/1 502', '3/1 503', '4/2 200']);
    expect(new Set(receiver.calls.map(({ headers }) => headers['x-service-event-id'])).size).toBe(1);
    expect(new Set(receiver.calls.map(({ body }) => body)).size).toBe(1);

    // A delivered webhook can be sent again too.
    await json('webhooks', 'resend', batch.id);
    await receiver.called(5);
    await tenant.closed(batch);
    expect((await json<Shown>('webhooks', 'deliveries', batch.id)).attempts).toHaveLength(5);

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
    const receiver = await receive(...Array(3).fill(status(500)), status(200));
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

    const second = await sendWith(replaced, 4);
    expect(second.path).toBe('/hook/token');
    expect([former, replaced].map((secret) => isSignedWith(secret, second))).toEqual([true, true]);
    // The service's own signature is of the new secret, so a receiver of it knows both before the change.
    expect(second.headers['x-service-signature']).toBe(expectedSignature(replaced, second));
    const both = { secret: [former, replaced] };
    for (const call of [first, second])
      expect(await unwrapWebhook(call.body, call.headers, both)).toMatchObject({ id: `evt_${batch.id}` });

    // The command may be repeated, and the secret of two changes ago ends.
    for (const [secret, count] of [
      [replaced, 5],
      [last, 6],
    ] as const)
      await sendWith(secret, count);
    const [fifth, sixth] = receiver.calls.slice(4) as [WebhookCall, WebhookCall];
    const all = [former, replaced, last];
    expect(all.map((secret) => isSignedWith(secret, fifth))).toEqual([true, true, false]);
    expect(all.map((secret) => isSignedWith(secret, sixth))).toEqual([false, true, true]);

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

it('may be called on loopback on this machine, but never one of the engines', async () => {
  const { dynamodb, s3, sqs, sfn, kms } = service.run.endpoints;
  const ports = new Set([dynamodb, s3, sqs, sfn, kms].map((endpoint) => new URL(endpoint).port));
  expect(ports.size).toBeGreaterThan(3);
  for (const port of ports)
    for (const host of ['127.0.0.1', 'localhost']) {
      const response = await tenant.submit({ url: `https://${host}:${port}/` });
      expect(summaryOf(response)).toBe('400/10006 webhook.url: The address is not allowed');
    }
});
