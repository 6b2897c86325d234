import { ServiceError } from '#contract/errors.ts';
import type { CreateBatchBody } from '#contract/routes/create-batch.ts';
import type { SecretOwner } from './secret-cipher.ts';
import type { Services } from './services.ts';
import type { Webhook } from './webhook.ts';
import { encryptTarget } from './webhook-target.ts';

/** @throws badRequest if the webhook's address is forbidden */
export async function rejectForbiddenWebhook(
  services: Services<'webhookSender'>,
  { webhook }: CreateBatchBody,
): Promise<void> {
  const rejection = webhook && (await services.webhookSender.rejectionOf(webhook.url));
  if (rejection) throw new ServiceError('badRequest', `webhook.url: ${rejection}`);
}

/** The webhook as it is stored: its address and its secret are encrypted for this batch. */
export async function encryptedWebhook(
  services: Services<'secretCipher'>,
  { webhook }: CreateBatchBody,
  owner: SecretOwner,
): Promise<Webhook | null> {
  if (webhook === undefined) return null;
  const { url, secret } = webhook;
  const target = { url, secrets: secret === undefined ? [] : [secret] };
  return encryptTarget(services, webhook, { target, owner });
}
