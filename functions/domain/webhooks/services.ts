import type { PlatformServices } from '#domain/platform/services.ts';
import type { DeliveryStore } from './delivery-store.ts';
import type { SecretCipher } from './secret-cipher.ts';
import type { WebhookSender } from './webhook-sender.ts';
import type { WebhookSource } from './webhook-source.ts';

export interface WebhookServices extends PlatformServices {
  deliveries: DeliveryStore;
  secretCipher: SecretCipher;
  webhookSender: WebhookSender;
  webhookSettings: WebhookSettings;
  webhookSource: WebhookSource;
}

/** Times in milliseconds. */
export interface WebhookSettings {
  /** How long a receiver may take to respond. */
  timeout: number;
  /** The delay after each failed attempt, from its end to the next attempt. */
  retryDelays: readonly number[];
}

/** What a use case needs of them. */
export type Services<Name extends keyof WebhookServices> = Pick<WebhookServices, Name>;
