import type { Context } from 'aws-lambda';
import { type DeliveryProgress, deliverWebhook } from '#domain/deliver-webhook.ts';
import type { DeliveryOwner } from '#domain/webhook-delivery.ts';
import { beginInvocation, endInvocation, measurements } from '#runtime/invocation.ts';
import {
  batches,
  clock,
  deliveries,
  log,
  secretSealer,
  webhookSender,
  webhookSettings,
} from '#runtime/services.ts';

const deliver = deliverWebhook({
  batches: batches(),
  clock,
  deliveries: deliveries(),
  log,
  secretSealer: secretSealer(),
  webhookSender: webhookSender(),
  webhookSettings: webhookSettings(),
});

/** Makes the next attempt to deliver a batch's event, if it is due, and says when to come back. */
export const handler = async (owner: DeliveryOwner, context: Context): Promise<DeliveryProgress> => {
  beginInvocation(context, { request_id: context.awsRequestId, workspace_id: owner.workspaceId });
  const progress = await deliver(owner);
  if (progress.isGivenUp) measurements.add('webhooksGivenUp', 1, {});
  endInvocation();
  return progress;
};
