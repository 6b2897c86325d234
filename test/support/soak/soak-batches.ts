import { expect } from 'vitest';
import type { BatchResource } from '#contract/batch.ts';
import { checkEnded, type RequestFields, waitForBatchEnd } from '../batches.ts';
import { clientOf } from '../client.ts';
import { functionIds } from '../entry-points.ts';
import { dataOf } from '../open-tenant.ts';
import type { Tenant } from '../service.ts';
import type { WebhookReceiver } from '../webhook-receiver.ts';
import { replyTo, type ScriptedBehavior } from './soak-model.ts';
import type { SoakWorld } from './soak-user.ts';

export interface SoakBatches {
  submitted: number;
  requests: number;
  cancelled: number;
  /** Batches with a webhook: each sends one event. */
  webhooks: number;
}

/**
 * Submits a batch, and checks its results when it has ended. One batch in four has a chain of requests that continue
 * one chat; one in four is cancelled.
 */
export async function doBatch(
  world: SoakWorld,
  tenant: Tenant,
  receiver: Pick<WebhookReceiver, 'url'>,
  counts: SoakBatches,
): Promise<void> {
  const { log, marker, random } = world;
  const client = clientOf(world.service, tenant);
  const hasChain = random() < 0.25;
  const chat = hasChain
    ? // The web function that is killed creates chats as well.
      await log.persistently('batch', [functionIds['send-message']], async () =>
        dataOf(await client.post<{ id: number }>('/chats', { name: 'Chain', agent_id: tenant.agentId })),
      )
    : undefined;
  const markers: string[] = [];
  const behaviors: ScriptedBehavior[] = [];
  const requests = Array.from({ length: 3 + Math.floor(random() * 40) }, (_, index): RequestFields => {
    const chance = random();
    const behavior: ScriptedBehavior = chance < 0.05 ? 'Stumble' : chance < 0.08 ? 'Throttle' : 'Say';
    behaviors.push(behavior);
    markers.push(marker());
    return {
      custom_id: `request ${index}`,
      message: `${behavior} ${markers[index]}`,
      ...(chat !== undefined && index % 5 === 2 && { history_id: chat.id }),
    };
  });
  const isCancelled = random() < 0.25;
  const hasWebhook = random() < 0.7;
  const batch = dataOf(
    await client.post<BatchResource>('/batches', {
      agent_id: tenant.agentId,
      requests,
      ...(hasWebhook && {
        webhook: { url: receiver.url, events: ['completed', 'failed', 'cancelled'], secret: 'soak' },
      }),
    }),
  );
  counts.submitted += 1;
  counts.requests += requests.length;
  if (hasWebhook) counts.webhooks += 1;
  if (isCancelled) {
    await new Promise((resolve) => setTimeout(resolve, random() * 3000));
    const response = await client.post<BatchResource>(`/batches/${batch.id}/cancel`, undefined);
    // The batch may have ended in the meantime.
    expect([202, 400]).toContain(response.status);
    if (response.status === 202) counts.cancelled += 1;
  }
  const ended = await log.persistently('batch', ['List', 'GetBatch'], () =>
    waitForBatchEnd(client, batch.id, 120),
  );
  expect(['completed', 'cancelled']).toContain(ended.status);
  const results = await log.persistently('batch', ['List'], () => checkEnded(client, ended, requests));
  for (const [index, { status, response_content, error_code }] of results.entries())
    if (status === 'success') expect(response_content).toBe(replyTo(markers[index] ?? ''));
    else expect([ended.status, error_code, behaviors[index]]).toEqual(['cancelled', 499, behaviors[index]]);
}
