import { KMSClient } from '@aws-sdk/client-kms';
import { kmsSecretCipher } from '#adapters/kms-secret-cipher.ts';
import { httpWebhookSender } from '#adapters/outbound/http-webhook-sender.ts';
import { clientTimeouts } from '#runtime/environment/client-timeouts.ts';
import { clock } from '#runtime/environment/clock.ts';
import { environment } from '#runtime/environment/environment.ts';
import { lazily } from '#runtime/environment/lazily.ts';
import { outboundRules } from './outbound-rules.ts';

export const secretCipher = lazily(() =>
  kmsSecretCipher(new KMSClient({ requestHandler: clientTimeouts }), environment('webhookKey')),
);
export const webhookSender = lazily(() =>
  httpWebhookSender({
    rules: outboundRules(environment('webhookAllow')),
    allowsPlainLoopback: environment('webhookPlainLoopback') === 'true',
    timeout: environment('webhookTimeoutSeconds') * 1000,
    clock,
  }),
);
