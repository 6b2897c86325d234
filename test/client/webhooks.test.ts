import { expect, onTestFinished, test, vi } from 'vitest';
import { ChatBatchClient, unwrapWebhook, WebhookVerificationError } from '#lib/client/index.ts';
import { useScriptedService } from '#support/use-service.ts';
import { startWebhookReceiver } from '#support/webhook-receiver.ts';

const { service, tenant } = await useScriptedService(undefined, { model: 'demo' });
const client = new ChatBatchClient({ baseUrl: service.baseUrl, apiKey: tenant.apiKey });

test('a delivered call is unwrapped, and a changed, old or foreign one rejected', async () => {
  const receiver = await startWebhookReceiver();
  onTestFinished(receiver.close);
  const secret = 'correct horse, é';
  const batch = await client.batches.create({
    agent_id: tenant.agentId,
    requests: [{ custom_id: 'a', message: 'Hello' }],
    webhook: { url: receiver.url, secret },
  });
  const [call] = await receiver.called(1);
  if (call === undefined) throw new Error('No call');
  const { body, headers } = call;
  const event = await client.webhooks.unwrap(body, headers, { secret });
  expect(event).toMatchObject({
    id: headers['x-service-event-id'],
    event: 'batch.completed',
    data: { id: batch.id, status: 'completed', completed_requests: 1 },
  });
  // As bytes, with headers of fetch, and while a secret is being replaced.
  const bytes = new TextEncoder().encode(body);
  expect(await unwrapWebhook(bytes, new Headers(headers), { secret: ['next', secret] })).toEqual(event);

  // The signature does not cover this header: a captured call must not become a new event.
  for (const id of ['evt_another', ''])
    expect(await unwrapWebhook(body, { ...headers, 'x-service-event-id': id }, { secret })).toEqual(event);

  const rejected = (given: string, changed: Record<string, string>, key = secret) =>
    expect(unwrapWebhook(given, { ...headers, ...changed }, { secret: key })).rejects.toThrow(
      WebhookVerificationError,
    );
  await rejected(body.replace('"completed_requests":1', '"completed_requests":2'), {});
  await rejected(`${body} `, {});
  await rejected(body, {}, 'another');
  for (const empty of ['', [], ['', secret]])
    await expect(unwrapWebhook(body, headers, { secret: empty })).rejects.toThrow(
      'secret of the webhook is empty',
    );
  await expect(unwrapWebhook(JSON.parse(body), headers, { secret })).rejects.toThrow('not parsed JSON');
  await rejected(body, { 'x-service-timestamp': String(Number(headers['x-service-timestamp']) + 1) });
  await rejected(body, { 'x-service-signature': '' });
  await rejected(body, { 'x-service-signature': `sha256=${'0'.repeat(64)}` });
  await rejected(body, { 'x-service-timestamp': 'soon' });

  const now = Date.now();
  vi.useFakeTimers({ now: now + 310_000, toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  await rejected(body, {});
  expect(await unwrapWebhook(body, headers, { secret, tolerance: 600 })).toEqual(event);
});
