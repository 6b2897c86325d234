import { KMSClient } from '@aws-sdk/client-kms';
import { kmsSecretSealer } from '#adapters/kms-secret-sealer.ts';
import { httpWebhookSender } from '#adapters/outbound/http-webhook-sender.ts';
import { clientTimeouts } from '#runtime/environment/client-timeouts.ts';
import { clock } from '#runtime/environment/clock.ts';
import { environment } from '#runtime/environment/environment.ts';
import { lazily } from '#runtime/environment/lazily.ts';
import { ownServices } from '#runtime/environment/own-services.ts';

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
