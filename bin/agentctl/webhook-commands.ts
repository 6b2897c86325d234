import { Command } from 'commander';
import { limits } from '#contract/limits.ts';
import { resendWebhook } from '#domain/batches/batches.ts';
import { decryptTarget, replaceWebhookSecret } from '#domain/webhooks/deliver-webhook.ts';
import {
  type DeliveryAttempt,
  type DeliveryOwner,
  eventIdOf,
  type WebhookDelivery,
} from '#domain/webhooks/webhook.ts';
import {
  batches,
  batchWorkflow,
  clock,
  deliveries,
  lazySecretCipher,
  webhookSource,
} from '#runtime/composition/services.ts';
import { addListener } from './listen-webhooks.ts';
import { readInput } from './read-json.ts';
import { operation, type Result } from './report.ts';
import { tableWith } from './text-table.ts';
import { addVerification } from './verify-webhook.ts';

export function webhookCommands(): Command {
  const group = new Command('webhooks').description('Webhook calls at the end of batches.');
  operation(group, 'deliveries <batch>', showDeliveries).description(
    'show every attempt to call the webhook of a batch',
  );
  operation(group, 'resend <batch>', resend).description(
    'call the webhook of a batch again, with the same event id',
  );
  operation(group, 'replace-secret <batch>', replaceSecret)
    .description('sign the further calls of a batch with another secret as well')
    .requiredOption('--file <file>', 'the file with the new secret; a newline at its end is no part of it')
    .addHelpText('after', replaceHelp);
  addVerification(group);
  addListener(group, secretsOf);
  return group;
}

async function showDeliveries(batchId: string): Promise<Result> {
  const owner = await ownerOf(batchId);
  const [delivery, attempts] = await Promise.all([deliveries().get(owner), deliveries().attempts(owner)]);
  if (delivery === undefined) throw new Error(await reasonForNone(owner));
  return {
    json: { ...jsonOf(delivery), attempts: attempts.map(attemptJson) },
    lines: [lineOf(delivery), ...attemptTable(attempts, 'No attempts')],
  };
}

async function resend(batchId: string): Promise<Result> {
  const services = { batches: batches(), batchWorkflow: batchWorkflow(), clock, deliveries: deliveries() };
  const delivery = await resendWebhook(services, await ownerOf(batchId));
  return { json: jsonOf(delivery), lines: [lineOf(delivery)] };
}

const replaceHelp = `
X-Service-Signature is then of the new secret. webhook-signature has both signatures, that of the new secret first.
New batches have the secret with which they are created.`;

async function replaceSecret(batchId: string, { file }: { file: string }): Promise<Result> {
  const secret = (await readInput(file)).toString().replace(/\r?\n$/, '');
  const { webhookSecretCharacters } = limits;
  if (secret === '' || secret.length > webhookSecretCharacters)
    throw new Error(`The secret must have 1 to ${webhookSecretCharacters} characters`);
  const services = { deliveries: deliveries(), secretCipher: lazySecretCipher, webhookSource };
  await replaceWebhookSecret(services, await ownerOf(batchId), secret);
  return {
    json: { batch_id: batchId, replaced: true },
    lines: [`Further calls of batch ${batchId} are signed with the new secret`],
  };
}

async function ownerOf(batchId: string): Promise<DeliveryOwner> {
  const workspaceId = await batches().workspaceOf(batchId);
  if (workspaceId === undefined) throw new Error(`No batch ${batchId} with a webhook was found`);
  return { workspaceId, batchId };
}

/** The newest first. */
async function secretsOf(batchId: string): Promise<readonly string[]> {
  const owner = await ownerOf(batchId);
  const webhook = await webhookSource.get(owner);
  if (webhook === undefined) return [];
  return (await decryptTarget({ secretCipher: lazySecretCipher }, webhook, owner)).secrets;
}

async function reasonForNone({ workspaceId, batchId }: DeliveryOwner): Promise<string> {
  const batch = await batches().get(workspaceId, batchId);
  return `Nothing to deliver so far: batch ${batchId} is ${batch?.status}, and its webhook is for ${batch?.webhookEvents.join(', ') || 'no event'}`;
}

const jsonOf = (delivery: WebhookDelivery) => ({
  batch_id: delivery.batchId,
  workspace_id: delivery.workspaceId,
  event_id: eventIdOf(delivery),
  state: delivery.state,
  round: delivery.round,
  next_attempt_at: delivery.state === 'pending' ? delivery.nextAt : null,
});

const lineOf = (delivery: WebhookDelivery): string =>
  `${eventIdOf(delivery)}  ${delivery.state}${delivery.state === 'pending' ? `, next attempt at ${delivery.nextAt} or later` : ''}`;

const attemptJson = ({ number, round, at, duration, status, failure }: DeliveryAttempt) => ({
  number,
  round,
  at,
  duration_milliseconds: duration,
  status,
  failure,
});

const attemptTable = tableWith<DeliveryAttempt>({
  attempt: ({ number }) => number,
  resend: ({ round }) => round - 1,
  time: ({ at }) => at,
  ms: ({ duration }) => duration ?? '',
  result: ({ status, failure }) =>
    String(status ?? failure ?? 'none: the attempt is in progress, or its function has crashed'),
});
