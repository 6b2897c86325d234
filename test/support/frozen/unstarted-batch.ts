import type { Batch } from '#domain/batches/batch.ts';
import type { Webhook } from '#domain/webhooks/webhook.ts';
import { batches } from '#runtime/composition/services.ts';
import { identifiers } from '#runtime/environment/invocation-context.ts';
import type { Tenant } from '../service.ts';
import { batch, batchRequest } from './entities.ts';

/** The requests of an unstarted batch: two request groups. */
export const unstartedRequests = Array.from({ length: 11 }, (_, position) => batchRequest(position));

/** Stores a batch without starting its workflow, as if its creator had died. The caller runs the batch. */
export async function createUnstarted(
  { workspaceId, agentId, apiKeyId }: Omit<Tenant, 'apiKey'>,
  webhook: Webhook | null = null,
): Promise<Batch> {
  const now = Date.now();
  const made = batch(1, {
    id: identifiers.uuid(),
    ...{ workspaceId, agentId, apiKeyId, total: unstartedRequests.length },
    webhookEvents: webhook?.events ?? [],
    createdAt: new Date(now).toISOString(),
    expiresAt: new Date(now + 3_600_000).toISOString(),
  });
  const requests = unstartedRequests.map((request) => ({ ...request, agentId }));
  await batches().create(made, requests, webhook, null);
  return made;
}

/** Resolves when workers have ended all requests of a batch. */
export async function untilProcessed({ workspaceId, id }: Pick<Batch, 'workspaceId' | 'id'>): Promise<void> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    const now = await batches().get(workspaceId, id);
    // The last worker removes its slot.
    if (now !== undefined && now.next >= now.total && Object.keys(now.slots).length === 0) return;
    if (Date.now() > deadline) throw new Error(`The requests do not end: ${JSON.stringify(now)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
