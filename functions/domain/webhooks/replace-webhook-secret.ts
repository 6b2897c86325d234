import type { Services } from './services.ts';
import type { DeliveryOwner } from './webhook-delivery.ts';
import { decryptTarget, encryptTarget } from './webhook-target.ts';

/**
 * Signs the further calls of a batch's webhook with another secret. `webhook-signature` also has the signature of the
 * secret before it, for a receiver that does not know the new one yet.
 */
export async function replaceWebhookSecret(
  services: Services<'deliveries' | 'secretCipher' | 'webhookSource'>,
  owner: DeliveryOwner,
  secret: string,
): Promise<void> {
  const webhook = await services.webhookSource.get(owner);
  if (webhook === undefined) throw new Error(`Batch ${owner.batchId} has no webhook`);
  const { url, secrets } = await decryptTarget(services, webhook, owner);
  const previous = secrets.filter((each) => each !== secret).slice(0, 1);
  const target = { url, secrets: [secret, ...previous] };
  const replaced = await encryptTarget(services, webhook, { target, owner });
  if (!(await services.deliveries.replaceWebhook(owner, webhook, replaced)))
    throw new Error(`The webhook of batch ${owner.batchId} has just been changed: run the command again`);
}
