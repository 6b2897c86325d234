import { KMSClient } from '@aws-sdk/client-kms';
import { kmsSecretCipher } from '#adapters/kms-secret-cipher.ts';
import { httpWebhookSender } from '#adapters/outbound/http-webhook-sender.ts';
import { clientTimeouts } from '#runtime/environment/client-timeouts.ts';
import { clock } from '#runtime/environment/clock.ts';
import { environment } from '#runtime/environment/environment.ts';
import { internalEndpoints } from '#runtime/environment/internal-endpoints.ts';
import { lazily } from '#runtime/environment/lazily.ts';

export const secretCipher = lazily(() =>
  kmsSecretCipher(new KMSClient({ requestHandler: clientTimeouts }), environment('webhookKey')),
);
export const webhookSender = lazily(() =>
  httpWebhookSender({
    rules: { allow: environment('webhookAllow'), denied: internalEndpoints() },
    timeout: environment('webhookTimeoutSeconds') * 1000,
    clock,
  }),
);
