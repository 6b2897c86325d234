import { type DeliveryProgress, deliverWebhook } from '#domain/deliver-webhook.ts';
import type { DeliveryOwner } from '#domain/webhook-delivery.ts';
import { measurements } from '#runtime/invocation.ts';
import { observed } from '#runtime/observed.ts';
import { batches, clock, deliveries, log, meter, webhookSettings } from '#runtime/services.ts';
import { secretSealer, webhookSender } from '#runtime/webhook-clients.ts';

const deliver = deliverWebhook({
  batches: batches(),
  clock,
  deliveries: deliveries(),
  log,
  meter,
  secretSealer: secretSealer(),
  webhookSender: webhookSender(),
  webhookSettings: webhookSettings(),
});

/** Makes the next attempt to deliver a batch's event, if it is due, and says when to come back. */
export const handler = observed(async (owner: DeliveryOwner): Promise<DeliveryProgress> => {
  const progress = await deliver(owner);
  if (progress.isGivenUp) measurements.add('webhooksGivenUp', 1, {});
  return progress;
});
