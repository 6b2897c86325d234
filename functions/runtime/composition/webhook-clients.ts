import { KMSClient } from '@aws-sdk/client-kms';
import { outboundRules } from '#adapters/outbound/addresses.ts';
import { httpWebhookSender } from '#adapters/outbound/http-webhook-sender.ts';
import { kmsSecretCipher } from '#adapters/secrets.ts';
import type { DeliveryOwner } from '#domain/webhooks/webhook.ts';
import { clientTimeouts, environment, internalEndpoints, lazily } from '#runtime/environment/environment.ts';
import { clock } from '#runtime/environment/invocation-context.ts';

export const secretCipher = lazily(() =>
  kmsSecretCipher<DeliveryOwner>(
    new KMSClient({ requestHandler: clientTimeouts }),
    environment('webhookKey'),
    ({ workspaceId, batchId }) => ({ workspace: workspaceId, batch: batchId }),
  ),
);
export const webhookSender = lazily(() =>
  httpWebhookSender({
    rules: outboundRules(environment('webhookAllow'), internalEndpoints(), clock),
    allowsPlainLoopback: environment('webhookPlainLoopback') === 'true',
    timeout: environment('webhookTimeoutSeconds') * 1000,
    clock,
  }),
);
