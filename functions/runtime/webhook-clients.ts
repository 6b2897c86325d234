import { KMSClient } from '@aws-sdk/client-kms';
import { kmsSecretSealer } from '#adapters/kms-secret-sealer.ts';
import { httpWebhookSender } from '#adapters/outbound/http-webhook-sender.ts';
import { clientTimeouts } from './client-timeouts.ts';
import { clock } from './clock.ts';
import { environment } from './environment.ts';
import { lazily } from './lazily.ts';
import { ownServices } from './own-services.ts';

export const secretSealer = lazily(() =>
  kmsSecretSealer(new KMSClient({ requestHandler: clientTimeouts }), environment('webhookKey')),
);
export const webhookSender = lazily(() =>
  httpWebhookSender({
    rules: { allow: environment('webhookAllow'), refuse: ownServices() },
    timeout: environment('webhookTimeoutSeconds') * 1000,
    clock,
  }),
);
