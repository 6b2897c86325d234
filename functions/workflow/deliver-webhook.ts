import { deliverWebhook } from '#domain/deliver-webhook.ts';
import {
  batches,
  clock,
  deliveries,
  log,
  secretSealer,
  webhookSender,
  webhookSettings,
} from '#runtime/services.ts';

/** Makes the next attempt to deliver a batch's event, if it is due, and says when to come back. */
export const handler = deliverWebhook({
  batches: batches(),
  clock,
  deliveries: deliveries(),
  log,
  secretSealer: secretSealer(),
  webhookSender: webhookSender(),
  webhookSettings: webhookSettings(),
});
