import { expect } from 'vitest';
import type { BatchResource } from '#contract/batch.ts';
import type { WebhookEvent } from '#contract/batch-statuses.ts';
import type { DeliveryAttempt, WebhookDelivery } from '#domain/webhooks/webhook.ts';
import { deliveries } from '#runtime/composition/services.ts';
import { clientOf } from './client.ts';
import { dataOf } from './open-tenant.ts';
import { createTenant, type Service, type Tenant } from './service.ts';

export interface WebhookFields {
  url: string;
  events?: WebhookEvent[] | null;
  secret?: string | null;
}

/** A tenant that submits batches of one request with a webhook, and reads the state of their deliveries. */
export async function openWebhookTenant(service: Service, options?: Parameters<typeof createTenant>[0]) {
  const tenant: Tenant = await createTenant(options);
  const client = clientOf(service, tenant);
  const submit = (webhook: WebhookFields, message = 'Hello') =>
    client.post<BatchResource>('/batches', {
      agent_id: tenant.agentId,
      requests: [{ custom_id: 'only', message }],
      webhook,
    });
  const ownerOf = ({ id }: Pick<BatchResource, 'id'>) => ({ workspaceId: tenant.workspaceId, batchId: id });
  const attempts = (batch: Pick<BatchResource, 'id'>): Promise<DeliveryAttempt[]> =>
    deliveries().attempts(ownerOf(batch));
  return {
    ...tenant,
    client,
    submit,
    attempts,
    ownerOf,
    create: async (webhook: WebhookFields, message?: string): Promise<BatchResource> =>
      dataOf(await submit(webhook, message)),
    batch: async ({ id }: Pick<BatchResource, 'id'>): Promise<BatchResource> =>
      dataOf(await client.get<BatchResource>(`/batches/${id}`)),
    /** Waits until the delivery has ended. */
    async closed(batch: Pick<BatchResource, 'id'>, timeout = 20_000): Promise<WebhookDelivery> {
      const find = () => deliveries().get(ownerOf(batch));
      await expect
        .poll(async () => (await find())?.state, { timeout, interval: 200 })
        .toMatch(/^(?:delivered|gone|exhausted)$/);
      return (await find()) as WebhookDelivery;
    },
    /** Each attempt in the delivery log, in one line. */
    summaries: async (batch: Pick<BatchResource, 'id'>): Promise<string[]> =>
      (await attempts(batch)).map(
        ({ number, round, status, failure, duration }) =>
          `${number}/${round} ${status ?? failure ?? (duration === null ? 'unknown' : 'nothing')}`,
      ),
  };
}
