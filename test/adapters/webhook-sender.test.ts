import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { OutboundRules } from '#adapters/outbound/checked-addresses.ts';
import { httpWebhookSender, retryAfterOf } from '#adapters/outbound/http-webhook-sender.ts';
import type { OutboundFailure } from '#domain/platform/outbound-failure.ts';
import { clock } from '#runtime/environment/clock.ts';
import { certificate } from '#support/certificate.ts';
import { startWebhookReceiver } from '#support/webhook-receiver.ts';

const usual = getCACertificates('default');
beforeAll(() => setDefaultCACertificates([...usual, certificate.cert]));
afterAll(() => setDefaultCACertificates(usual));

/** A sender whose resolver gives these responses one after the other, and then repeats the last one. */
const senderOf = (responses: string[][], allow: OutboundRules['allow'] = []) =>
  httpWebhookSender({
    clock,
    timeout: 1000,
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

it('connects to the address that it has checked, whatever the name means a moment later', async () => {
  const receiver = await startWebhookReceiver();
  const allow = [{ host: '127.0.0.1', port: receiver.port }];
  const sender = senderOf([['127.0.0.1'], ['127.0.0.2']], allow);
  expect(await sender.post(`https://named.test:${receiver.port}/`, call)).toEqual({
    status: 200,
    retryAfter: null,
  });
  await receiver.close();
});

it('refuses a name of which one address is private, and takes one that does not resolve', async () => {
  expect(await senderOf([['93.184.216.34', '10.0.0.1']]).rejectionOf('https://named.test/')).toBe(
    'The address is not allowed',
  );
  expect(await senderOf([[]]).rejectionOf('https://named.test/')).toBeNull();
});

it('does not wait for a resolver that says nothing', async () => {
  const sender = httpWebhookSender({
    clock,
    timeout: 1000,
    rules: { allow: [], denied: [], resolve: () => new Promise(() => undefined) },
  });
  expect(await sender.rejectionOf('https://named.test/')).toBeNull();
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
