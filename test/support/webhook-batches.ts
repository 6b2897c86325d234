import { expect } from 'vitest';
import type { BatchResource } from '#contract/batch.ts';
import type { WebhookEvent } from '#contract/batch-statuses.ts';
import type { DeliveryAttempt, WebhookDelivery } from '#domain/webhooks/webhook.ts';
import { deliveries } from '#runtime/composition/services.ts';
import { batchAt } from './batches.ts';
import { dataOf, openTenant } from './open-tenant.ts';
import type { createTenant, Service } from './service.ts';

export interface WebhookFields {
  url: string;
  events?: WebhookEvent[] | null;
  secret?: string | null;
}

/** A tenant that submits batches of one request with a webhook, and reads the state of their deliveries. */
export async function openWebhookTenant(service: Service, options?: Parameters<typeof createTenant>[0]) {
  const tenant = await openTenant(service, options);
  const { client } = tenant;
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
    submit,
    attempts,
    create: async (webhook: WebhookFields, message?: string): Promise<BatchResource> =>
      dataOf(await submit(webhook, message)),
    batch: ({ id }: Pick<BatchResource, 'id'>): Promise<BatchResource> => batchAt(client, id),
    /** Waits until the delivery has ended. */
    async closed(batch: Pick<BatchResource, 'id'>): Promise<WebhookDelivery> {
      const find = () => deliveries().get(ownerOf(batch));
      await expect.poll(async () => (await find())?.state).toMatch(/^(?:delivered|gone|exhausted)$/);
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
