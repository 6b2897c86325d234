import { type DeliveryProgress, deliverWebhook } from '#domain/webhooks/deliver-webhook.ts';
import type { DeliveryOwner } from '#domain/webhooks/services.ts';
import {
  clock,
  deliveries,
  log,
  meter,
  random,
  shares,
  webhookSettings,
  webhookSource,
} from '#runtime/composition/services.ts';
import { secretCipher, webhookSender } from '#runtime/composition/webhook-clients.ts';
import { measurements } from '#runtime/observability/invocation.ts';
import { observed } from '#runtime/observability/observed.ts';

const services = {
  clock,
  deliveries: deliveries(),
  log,
  meter,
  random,
  secretCipher: secretCipher(),
  webhookSender: webhookSender(),
  shares: shares(),
  webhookSettings: webhookSettings(),
  webhookSource,
};

export const handler = observed(async (owner: DeliveryOwner): Promise<DeliveryProgress> => {
  const progress = await deliverWebhook(services, owner);
  if (progress.isGivenUp) measurements.add('webhooksExhausted', 1, {});
  return progress;
});
