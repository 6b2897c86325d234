import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { OutboundRules } from '#adapters/outbound/addresses.ts';
import { httpWebhookSender, retryAfterOf } from '#adapters/outbound/http-webhook-sender.ts';
import type { OutboundFailure } from '#domain/platform/failures.ts';
import { clock } from '#runtime/environment/invocation-context.ts';
import { certificate } from '#support/certificate.ts';
import { startWebhookReceiver, status } from '#support/webhook-receiver.ts';

const usual = getCACertificates('default');
beforeAll(() => setDefaultCACertificates([...usual, certificate.cert]));
afterAll(() => setDefaultCACertificates(usual));

/** A sender of a stage that allows plain http to loopback, and nothing else that is not public. */
const plainSender = (denied: OutboundRules['denied'] = []) =>
  httpWebhookSender({
    ...{ clock, timeout: 1000, allowsPlainLoopback: true },
    rules: { allow: [], denied, resolve: async () => ['127.0.0.1'] },
  });

/** A sender whose resolver gives these responses one after the other, and then repeats the last one. */
const senderOf = (responses: string[][], allow: OutboundRules['allow'] = []) =>
  httpWebhookSender({
    clock,
    timeout: 1000,
    allowsPlainLoopback: false,
    rules: {
      allow,
      denied: [],
      resolve: async () => (responses.length > 1 ? responses.shift() : responses[0]) ?? [],
    },
  });
const call = { headers: {}, body: '{}' };
const failureOf = (sent: Promise<unknown>) => sent.catch((error: OutboundFailure) => error.kind);

it('never connects to a name that was public and has become private', async () => {
  const receiver = await startWebhookReceiver();
  const url = `https://named.test:${receiver.port}/`;
  const sender = senderOf([['93.184.216.34'], ['127.0.0.1']]);
  expect(await sender.rejectionOf(url)).toBeNull();
  expect(await failureOf(sender.post(url, call))).toBe('forbidden');
  expect(receiver.connections()).toBe(0);
  await receiver.close();
});

it('returns the status, and how long the receiver asks to be left alone', async () => {
  const receiver = await startWebhookReceiver(status(503, { 'Retry-After': '3' }));
  const sender = senderOf([['127.0.0.1']], [{ host: 'localhost', port: '*' }]);
  expect(await sender.post(receiver.url, call)).toEqual({ status: 503, retryAfter: 3000 });
  await receiver.close();
});

it('reads Retry-After as seconds or as a date', () => {
  const now = new Date('2026-01-01T00:00:00Z');
  expect(retryAfterOf('120', now)).toBe(120_000);
  expect(retryAfterOf(' 0 ', now)).toBe(0);
  expect(retryAfterOf('Thu, 01 Jan 2026 00:01:00 GMT', now)).toBe(60_000);
  expect(retryAfterOf('Thu, 01 Jan 2025 00:01:00 GMT', now)).toBe(0);
  for (const nonsense of [undefined, '', 'soon', '-5', '1.5', '2026-01-01', '99999999999'])
    expect(retryAfterOf(nonsense, now)).toBeNull();
});

it('calls plain http at 127.0.0.1 and [::1] alone, and only if the stage allows it', async () => {
  const sender = plainSender();
  for (const url of ['http://127.0.0.1:8080/hook', 'http://127.0.0.1/', 'http://[::1]:8080/']) {
    expect([url, await sender.rejectionOf(url)]).toEqual([url, null]);
    const other = senderOf([['127.0.0.1']], [{ host: '127.0.0.1', port: '*' }]);
    expect(await other.rejectionOf(url)).toBe('The address must be an https URL');
    expect(await failureOf(other.post(url, call))).toBe('malformed');
  }
  for (const host of [
    ...['localhost', 'localhost.', 'named.test', '127.0.0.2', '0.0.0.0', '[::]', '[::ffff:127.0.0.1]'],
    ...['10.0.0.1', '169.254.169.254', '93.184.216.34', '127.0.0.1.named.test'],
  ]) {
    expect([host, await sender.rejectionOf(`http://${host}:8080/`)]).toEqual([
      host,
      'The address must be an https URL',
    ]);
    expect(await failureOf(sender.post(`http://${host}:8080/`, call))).toBe('malformed');
  }
  // The setting is for plain http alone: https keeps its rules.
  expect(await sender.rejectionOf('https://127.0.0.1:8443/')).toBe('The address is not allowed');
  expect(await sender.rejectionOf('https://localhost:8443/')).toBe('The address is not allowed');
  expect(await sender.rejectionOf('http://127.0.0.1:25/')).toBe('The port 25 is not allowed');
  const internal = plainSender([{ host: 'localhost', port: 8080 }]);
  expect(await internal.rejectionOf('http://127.0.0.1:8080/')).toBe('The address is not allowed');
});
