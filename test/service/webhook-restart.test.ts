import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { BatchResource } from '#contract/batch.ts';
import { agentctlOf } from '#support/agentctl.ts';
import { clientOf } from '#support/client.ts';
import { temporaryFolder } from '#support/close-after-tests.ts';
import { startCommand, startOn } from '#support/command.ts';
import { dataOf } from '#support/open-tenant.ts';
import { quickTimer } from '#support/quick-timer.ts';
import { type Service, startService } from '#support/service.ts';
import { openWebhookTenant } from '#support/webhook-batches.ts';
import { expectedSignature, startWebhookReceiver, status } from '#support/webhook-receiver.ts';

const folder = await temporaryFolder('service-webhooks-');

interface Shown {
  state: string;
  attempts: { number: number; status: number | null; failure: string | null }[];
}

const shownBy = (service: Service, { id }: BatchResource): Promise<Shown> =>
  agentctlOf(service).json<Shown>('webhooks', 'deliveries', id);

/** Each look starts a process. */
const polling = { timeout: 60_000, interval: 2500 };

it.runIf(process.env.SOAK !== undefined)(
  'goes on with the schedule after a restart, and looks at the address anew',
  async () => {
    const dataDir = join(folder, 'stopped');
    // More attempts than this test makes, even on a slow machine.
    const variables = {
      WEBHOOK_RETRY_SECONDS: Array(60).fill(1).join(','),
      // If an attempt is overdue for so long, the reconciler assumes that its execution is lost.
      LEASE_SECONDS: '3',
    };
    const receiver = await startWebhookReceiver(status(500), status(500), status(200));
    const first = await startService({ dataDir, variables, timer: quickTimer });
    const tenant = await openWebhookTenant(first);
    const batch = await tenant.create({ url: receiver.url, secret: 'sealed' });
    await receiver.called(1);
    await first.close();

    // The second run allows only public addresses, as if the host name had got another address since the batch was
    // created.
    const connections = receiver.connections();
    const withoutAllowed = { ...variables, WEBHOOK_ALLOW: '' };
    const second = await startService({ dataDir, timer: quickTimer, variables: withoutAllowed });
    const failures = async () => (await shownBy(second, batch)).attempts.map(({ failure }) => failure);
    await expect.poll(failures, polling).toContain('The address is not allowed');
    await second.close();
    expect(receiver.connections()).toBe(connections);

    const third = await startService({ dataDir, variables, timer: quickTimer });
    await expect.poll(async () => (await shownBy(third, batch)).state, polling).toBe('delivered');
    const { attempts } = await shownBy(third, batch);
    await third.close();
    expect(attempts.map(({ number }) => number)).toEqual(attempts.map((_, index) => index + 1));
    expect(attempts.at(-1)?.status).toBe(200);
    expect(receiver.calls).toHaveLength(3);
    expect(new Set(receiver.calls.map(({ body }) => body)).size).toBe(1);
    expect(new Set(receiver.calls.map(({ headers }) => headers['x-service-event-id'])).size).toBe(1);
    for (const call of receiver.calls)
      expect(call.headers['x-service-signature']).toBe(expectedSignature('sealed', call));
    await receiver.close();
  },
);

// The reconciler and the schedule take most of a minute.
it.runIf(process.env.SOAK !== undefined)('goes on after the whole service was killed', async () => {
  const data = join(folder, 'killed');
  const receiver = await startWebhookReceiver(status(500), status(200));
  const { command: first, connection } = await startOn(data);
  const client = clientOf({ baseUrl: connection.base_url }, { apiKey: connection.api_key });
  dataOf(
    await client.post<BatchResource>('/batches', {
      agent_id: connection.agent_id,
      requests: [{ custom_id: 'only', message: 'Hello' }],
      webhook: { url: receiver.url },
    }),
  );
  await receiver.called(1);
  await first.kill();

  const second = startCommand(['--port', '0', '--data', data]);
  const [one, other] = await receiver.called(2);
  expect(other?.body).toBe(one?.body);
  expect(other?.headers['x-service-event-id']).toBe(one?.headers['x-service-event-id']);
  // The schedule's first wait is 5 s, with jitter of 10 % less.
  expect((other?.at ?? 0) - (one?.at ?? 0)).toBeGreaterThan(4400);
  await second.kill();
  await receiver.close();
});
