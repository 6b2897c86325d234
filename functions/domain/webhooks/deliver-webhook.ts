import { OutboundFailure } from '#domain/platform/outbound-failure.ts';
import type { PlatformServices } from '#domain/platform/services.ts';
import type { WebhookServices } from './services.ts';
import { standardSignature, webhookSignature } from './sign-webhook.ts';
import {
  type DeliveryAttempt,
  type DeliveryOwner,
  eventIdOf,
  type WebhookDelivery,
} from './webhook-delivery.ts';
import type { WebhookAnswer } from './webhook-sender.ts';

type DeliverServices = WebhookServices & Pick<PlatformServices, 'clock' | 'log' | 'meter'>;

/** `waiting`: there is more to do, after some whole seconds. */
export interface DeliveryProgress {
  state: 'settled' | 'waiting';
  seconds: number;
  /** The last attempt has failed, and there is no other. */
  isGivenUp?: true;
}

const settled: DeliveryProgress = { state: 'settled', seconds: 0 };
const givenUp: DeliveryProgress = { ...settled, isGivenUp: true };

/** Makes the next attempt to deliver a batch's event, if it is due. What was done and when to go on stands in the row. */
export const deliverWebhook =
  (services: DeliverServices) =>
  async (owner: DeliveryOwner): Promise<DeliveryProgress> => {
    const [webhook, delivery] = await Promise.all([
      services.webhookSource.get(owner),
      services.deliveries.get(owner),
    ]);
    if (webhook === undefined || delivery?.state !== 'pending') return settled;
    const now = services.clock.now();
    if (Date.parse(delivery.nextAt) > now.getTime()) return waiting(delivery.nextAt, now);
    const { retryDelays, timeout } = services.webhookSettings;
    if (delivery.attempts > retryDelays.length) {
      await services.deliveries.giveUp(delivery);
      return givenUp;
    }
    const { secret } = webhook;
    // Before the attempt is taken: what keeps it from being made is nobody's failed attempt.
    const opened = secret === null ? null : await services.secretSealer.open(secret, owner);
    const begun = await services.deliveries.begin(delivery, {
      at: now.toISOString(),
      // One that is killed has the receiver's time twice before its turn is taken to be over.
      nextAt: later(now, 2 * timeout + varied(retryDelays[delivery.attempts] ?? 0)),
    });
    if (begun === undefined) return waiting(now.toISOString(), now);
    return attempt(services, webhook.url, opened, begun);
  };

async function attempt(
  services: DeliverServices,
  url: string,
  secret: string | null,
  begun: { delivery: WebhookDelivery; attempt: DeliveryAttempt },
): Promise<DeliveryProgress> {
  const { delivery } = begun;
  const headers = headersOf(delivery, secret, begun.attempt.at);
  const answer = await answerOf(services, url, { headers, body: delivery.body });
  const now = services.clock.now();
  const { status, failure } = answer;
  const duration = now.getTime() - Date.parse(begun.attempt.at);
  services.log.info('A webhook was called', {
    batchId: delivery.batchId,
    attempt: begun.attempt.number,
    status,
    failure,
    duration,
  });
  const { retryDelays } = services.webhookSettings;
  services.meter.webhookCalled(outcomeOf(answer));
  const then = nextOf(delivery, answer, retryDelays, now);
  await services.deliveries.end(delivery, { ...begun.attempt, duration, status, failure }, then);
  if (then.state === 'pending') return waiting(then.nextAt, now);
  return then.state === 'exhausted' ? givenUp : settled;
}

type Answer = { [Field in keyof WebhookAnswer]: WebhookAnswer[Field] | null } & { failure: string | null };

async function answerOf(
  { webhookSender }: DeliverServices,
  url: string,
  call: { headers: Record<string, string>; body: string },
): Promise<Answer> {
  try {
    return { ...(await webhookSender.post(url, call)), failure: null };
  } catch (error) {
    if (!(error instanceof OutboundFailure)) throw error;
    return { status: null, retryAfter: null, failure: error.message };
  }
}

function outcomeOf({ status }: Answer): 'delivered' | 'refused' | 'unreachable' | 'gone' {
  if (status === null) return 'unreachable';
  if (status === 410) return 'gone';
  return status >= 200 && status <= 299 ? 'delivered' : 'refused';
}

function nextOf(
  { attempts, nextAt }: WebhookDelivery,
  { status, retryAfter }: Answer,
  retryDelays: readonly number[],
  now: Date,
): Pick<WebhookDelivery, 'state' | 'nextAt'> {
  if (status !== null && status >= 200 && status <= 299) return { state: 'delivered', nextAt };
  if (status === 410) return { state: 'gone', nextAt };
  const delay = retryDelays[attempts - 1];
  if (delay === undefined) return { state: 'exhausted', nextAt };
  // A receiver may ask for more time than the schedule gives it, up to the schedule's longest wait.
  const wanted = Math.min(retryAfter ?? 0, Math.max(...retryDelays));
  return { state: 'pending', nextAt: later(now, Math.max(varied(delay), wanted)) };
}

function headersOf(delivery: WebhookDelivery, secret: string | null, at: string): Record<string, string> {
  const eventId = eventIdOf(delivery);
  const timestamp = String(Math.floor(Date.parse(at) / 1000));
  const headers = {
    'Content-Type': 'application/json',
    'X-Service-Event-Id': eventId,
    'webhook-id': eventId,
    'webhook-timestamp': timestamp,
  };
  if (secret === null) return headers;
  const call = { secret, timestamp, body: delivery.body };
  return {
    ...headers,
    'X-Service-Timestamp': timestamp,
    'X-Service-Signature': webhookSignature(call),
    'webhook-signature': standardSignature({ ...call, eventId }),
  };
}

/** By up to a tenth, so that what failed together does not come back together. */
const varied = (delay: number): number => delay * (0.9 + Math.random() / 5);

const later = (now: Date, milliseconds: number): string =>
  new Date(now.getTime() + milliseconds).toISOString();

/** The workflow waits whole seconds, at least one, so that it never asks in vain again and again. */
const waiting = (until: string, now: Date): DeliveryProgress => ({
  state: 'waiting',
  seconds: Math.max(1, Math.ceil((Date.parse(until) - now.getTime()) / 1000)),
});
