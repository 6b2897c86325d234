import type { SecretOwner } from './secret-cipher.ts';
import type { Services } from './services.ts';
import type { EncryptedWebhook, Webhook, WebhookTarget } from './webhook.ts';

/** An address may have a token in its path or query, so it is encrypted as well, with the secrets in one ciphertext. */
export const encryptTarget = async (
  { secretCipher }: Services<'secretCipher'>,
  { events }: Pick<Webhook, 'events'>,
  { target, owner }: { target: WebhookTarget; owner: SecretOwner },
): Promise<EncryptedWebhook> => ({
  events,
  target: await secretCipher.encrypt(JSON.stringify(target), owner),
});

export async function decryptTarget(
  { secretCipher }: Services<'secretCipher'>,
  webhook: Webhook,
  owner: SecretOwner,
): Promise<WebhookTarget> {
  if ('target' in webhook) return JSON.parse(await secretCipher.decrypt(webhook.target, owner));
  const { url, secret } = webhook;
  return { url, secrets: secret === null ? [] : [await secretCipher.decrypt(secret, owner)] };
}
