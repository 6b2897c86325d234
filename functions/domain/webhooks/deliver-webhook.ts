import { ServiceError } from '#contract/errors.ts';
import type { CreateBatchBody } from '#contract/routes/batches.ts';
import { OutboundFailure } from '#domain/platform/failures.ts';
import type { Shares } from '#domain/platform/shares.ts';
import {
  type DeliveryAttempt,
  type DeliveryOwner,
  eventIdOf,
  type Services,
  standardSignature,
  type Webhook,
  type WebhookDelivery,
  type WebhookResponse,
  type WebhookServices,
  type WebhookTarget,
  webhookSignature,
} from './webhook.ts';

/** The address is encrypted too, because its path or query may contain a token. */
const encryptTarget = (
  { secretCipher }: Services<'secretCipher'>,
  target: WebhookTarget,
  owner: DeliveryOwner,
): Promise<string> => secretCipher.encrypt(JSON.stringify(target), owner);

export async function decryptTarget(
  { secretCipher }: Services<'secretCipher'>,
  webhook: Webhook,
  owner: DeliveryOwner,
): Promise<WebhookTarget> {
  if ('target' in webhook) return JSON.parse(await secretCipher.decrypt(webhook.target, owner));
  const { url, secret } = webhook;
  return { url, secrets: secret === null ? [] : [await secretCipher.decrypt(secret, owner)] };
}

/** @throws badRequest if the address is forbidden */
export async function rejectForbiddenWebhook(
  services: Services<'webhookSender'>,
  { webhook }: CreateBatchBody,
): Promise<void> {
  const rejection = webhook && (await services.webhookSender.rejectionOf(webhook.url));
  if (rejection) throw new ServiceError('badRequest', `webhook.url: ${rejection}`);
}

export async function encryptedWebhook(
  services: Services<'secretCipher'>,
  { webhook }: CreateBatchBody,
  owner: DeliveryOwner,
): Promise<Webhook | null> {
  if (webhook === undefined) return null;
  const { url, secret, events } = webhook;
  const secrets = secret === undefined ? [] : [secret];
  return { events, target: await encryptTarget(services, { url, secrets }, owner) };
}

/**
 * In `webhook-signature`, the former secret also signs, for a receiver that does not know the new one yet.
 * @throws Error if the batch has no webhook, or if another caller has changed it meanwhile
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
  const target = await encryptTarget(services, { url, secrets: [secret, ...previous] }, owner);
  const replaced = { events: webhook.events, target };
  if (!(await services.deliveries.replaceWebhook(owner, webhook, replaced)))
    throw new Error(`The webhook of batch ${owner.batchId} has just been changed: run the command again`);
}

type DeliverServices = Omit<WebhookServices, 'idempotency' | 'identifiers'> & {
  shares: Pick<Shares, 'join'>;
};

/**
 * The workflow reads `state` and `seconds`, so these names and the values of `state` never change. `settled`: it need
 * not call again.
 */
export interface DeliveryProgress {
  state: 'settled' | 'waiting';
  /** Whole seconds until the workflow calls again, at least 1; 0 if settled. */
  seconds: number;
  isGivenUp?: true;
}

/** Milliseconds, ±10 %, until a delivery that got no slot asks again. */
const turnMilliseconds = 60_000;

const finished: DeliveryProgress = { state: 'settled', seconds: 0 };
const exhausted: DeliveryProgress = { ...finished, isGivenUp: true };

export async function deliverWebhook(
  services: DeliverServices,
  owner: DeliveryOwner,
): Promise<DeliveryProgress> {
  const [webhook, delivery] = await Promise.all([
    services.webhookSource.get(owner),
    services.deliveries.get(owner),
  ]);
  if (webhook === undefined || delivery?.state !== 'pending') return finished;
  const now = services.clock.now();
  if (Date.parse(delivery.nextAt) > now.getTime()) return waiting(delivery.nextAt, now);
  const { retryDelays, timeout } = services.webhookSettings;
  if (delivery.attempts > retryDelays.length) {
    await services.deliveries.exhaust(delivery);
    return exhausted;
  }
  // A receiver that has failed in this round may take the whole timeout again, so the attempt needs a slot.
  const leave = delivery.attempts > 0 ? await services.shares.join('webhooks', owner.workspaceId) : noSlot;
  if (leave === undefined) return waiting(plus(now, varied(services, turnMilliseconds)), now);
  try {
    // Before the attempt starts, because a failure of KMS must not count as an attempt.
    const target = await decryptTarget(services, webhook, owner);
    const started = await services.deliveries.start(delivery, {
      at: now.toISOString(),
      // In case the function is killed.
      nextAt: plus(now, 2 * timeout + varied(services, retryDelays[delivery.attempts] ?? 0)),
    });
    if (started === undefined) return waiting(now.toISOString(), now);
    return await attempt(services, target, started);
  } finally {
    await leave();
  }
}

const noSlot = async (): Promise<void> => undefined;

async function attempt(
  services: DeliverServices,
  { url, secrets }: WebhookTarget,
  started: { delivery: WebhookDelivery; attempt: DeliveryAttempt },
): Promise<DeliveryProgress> {
  const { delivery } = started;
  const headers = headersOf(delivery, secrets, started.attempt.at);
  const response = await responseOf(services, url, { headers, body: delivery.body });
  const now = services.clock.now();
  const { status, failure } = response;
  const duration = now.getTime() - Date.parse(started.attempt.at);
  services.log.info('A webhook was called', {
    batchId: delivery.batchId,
    attempt: started.attempt.number,
    status,
    failure,
    duration,
  });
  const outcome = outcomeOf(response);
  services.meter.webhookCalled(outcome);
  const next = nextOf(services, delivery, outcome, response.retryAfter, now);
  await services.deliveries.end(delivery, { ...started.attempt, duration, status, failure }, next);
  if (next.state === 'pending') return waiting(next.nextAt, now);
  return next.state === 'exhausted' ? exhausted : finished;
}

type AttemptResponse = Pick<DeliveryAttempt, 'status' | 'failure'> & Pick<WebhookResponse, 'retryAfter'>;

async function responseOf(
  { webhookSender }: DeliverServices,
  url: string,
  call: { headers: Record<string, string>; body: string },
): Promise<AttemptResponse> {
  try {
    return { ...(await webhookSender.post(url, call)), failure: null };
  } catch (error) {
    if (!(error instanceof OutboundFailure)) throw error;
    return { status: null, retryAfter: null, failure: error.message };
  }
}

type Outcome = 'delivered' | 'refused' | 'unreachable' | 'gone';

function outcomeOf({ status }: AttemptResponse): Outcome {
  if (status === null) return 'unreachable';
  if (status === 410) return 'gone';
  return status >= 200 && status <= 299 ? 'delivered' : 'refused';
}

function nextOf(
  services: Services<'random' | 'webhookSettings'>,
  { attempts, nextAt }: WebhookDelivery,
  outcome: Outcome,
  retryAfter: number | null,
  now: Date,
): Pick<WebhookDelivery, 'state' | 'nextAt'> {
  if (outcome === 'delivered' || outcome === 'gone') return { state: outcome, nextAt };
  const { retryDelays } = services.webhookSettings;
  const delay = retryDelays[attempts - 1];
  if (delay === undefined) return { state: 'exhausted', nextAt };
  const requested = Math.min(retryAfter ?? 0, Math.max(...retryDelays));
  return { state: 'pending', nextAt: plus(now, Math.max(varied(services, delay), requested)) };
}

function headersOf(
  delivery: WebhookDelivery,
  [newest, ...former]: readonly string[],
  at: string,
): Record<string, string> {
  const eventId = eventIdOf(delivery);
  const timestamp = String(Math.floor(Date.parse(at) / 1000));
  const headers = {
    'Content-Type': 'application/json',
    'X-Service-Event-Id': eventId,
    'webhook-id': eventId,
    'webhook-timestamp': timestamp,
  };
  if (newest === undefined) return headers;
  const { body } = delivery;
  return {
    ...headers,
    'X-Service-Timestamp': timestamp,
    'X-Service-Signature': webhookSignature({ secret: newest, timestamp, body }),
    'webhook-signature': [newest, ...former]
      .map((secret) => standardSignature({ secret, timestamp, body, eventId }))
      .join(' '),
  };
}

/** Spreads what would otherwise be due at the same time. */
const varied = ({ random }: Services<'random'>, delay: number): number => delay * (0.9 + random() / 5);

const plus = (now: Date, milliseconds: number): string =>
  new Date(now.getTime() + milliseconds).toISOString();

/** At least 1 s, so that the workflow does not call in a loop. */
const waiting = (until: string, now: Date): DeliveryProgress => ({
  state: 'waiting',
  seconds: Math.max(1, Math.ceil((Date.parse(until) - now.getTime()) / 1000)),
});
