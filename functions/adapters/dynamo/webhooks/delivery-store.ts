import { keys } from '#adapters/dynamo/table/keys.ts';
import {
  attributesOf,
  between,
  changingIf,
  fieldsOf,
  getAs,
  type Item,
  ifStill,
  type Table,
  type Write,
  withoutNulls,
} from '#adapters/dynamo/table/table.ts';
import { transactIfFirst } from '#adapters/dynamo/table/transact-with-retry.ts';
import type { Audit } from '#adapters/dynamo/workspaces/api-key-store.ts';
import type {
  DeliveryAttempt,
  DeliveryOwner,
  DeliveryStore,
  WebhookDelivery,
} from '#domain/webhooks/webhook.ts';

/** By this entry, the reconciler finds overdue deliveries. */
export const webhookEntry = ({ workspaceId, batchId }: DeliveryOwner, due: string): Item => ({
  ...keys.operatorsWebhook(workspaceId, due, batchId),
  workspace_id: workspaceId,
  batch_id: batchId,
  due,
});

export const dynamoDeliveryStore = (table: Table, audit: Audit): DeliveryStore => ({
  get: (owner) =>
    getAs(table, keys.webhookDelivery(owner.workspaceId, owner.batchId), (item) => deliveryOf(owner, item)),

  async start(delivery, { at, nextAt }) {
    const started = {
      ...delivery,
      attempts: delivery.attempts + 1,
      allAttempts: delivery.allAttempts + 1,
      nextAt,
    };
    const attempt: DeliveryAttempt = { number: started.allAttempts, round: started.round, at, ...notEnded };
    const isStarted = await transactIfFirst(table, () => [
      replacing(delivery, started),
      { Put: { Item: attemptItem(delivery, attempt) } },
    ]);
    return isStarted ? { delivery: started, attempt } : undefined;
  },

  async end(delivery, attempt, next) {
    const isCurrent = await transactIfFirst(table, () => [
      replacing(delivery, { ...delivery, ...next }),
      { Put: { Item: attemptItem(delivery, attempt) } },
    ]);
    if (!isCurrent) await table.put({ Item: attemptItem(delivery, attempt) });
  },

  async exhaust(delivery) {
    await transactIfFirst(table, () => [replacing(delivery, { ...delivery, state: 'exhausted' })]);
  },

  async restart(delivery, at) {
    const restarted: WebhookDelivery = {
      ...delivery,
      state: 'pending',
      round: delivery.round + 1,
      attempts: 0,
      nextAt: at,
    };
    const isDone = await transactIfFirst(table, () => [
      replacing(delivery, restarted),
      { Put: { Item: webhookEntry(delivery, at) } },
      ...audit('webhook resent', delivery.workspaceId, delivery.batchId, { round: restarted.round }),
    ]);
    return isDone ? restarted : undefined;
  },

  replaceWebhook: ({ workspaceId, batchId }, read, replacement) =>
    transactIfFirst(table, () => [
      {
        Update: {
          Key: keys.batchWebhook(workspaceId, batchId),
          ...changingIf({ webhook: replacement }, { webhook: read }),
        },
      },
      ...audit('webhook secret replaced', workspaceId, batchId, {}),
    ]),

  async attempts(owner) {
    const numbered = (number: number) => keys.deliveryAttempt(owner.workspaceId, owner.batchId, number);
    return (await table.queryAll(between(numbered(0), numbered(9_999_999)))).map(attemptOf);
  },
});

const notEnded = { duration: null, status: null, failure: null };

const replacing = ({ state, round, attempts }: WebhookDelivery, next: WebhookDelivery): Write => ({
  Put: { Item: deliveryItem(next), ...ifStill({ state, round, attempts }) },
});

export const deliveryItem = ({ workspaceId, batchId, ...delivery }: WebhookDelivery): Item => ({
  ...keys.webhookDelivery(workspaceId, batchId),
  ...attributesOf(delivery),
});

const deliveryOf = ({ workspaceId, batchId }: DeliveryOwner, item: Item): WebhookDelivery => ({
  ...{ workspaceId, batchId },
  ...fieldsOf<Omit<WebhookDelivery, keyof DeliveryOwner>>(item),
});

const attemptItem = (
  { workspaceId, batchId }: DeliveryOwner,
  { number, ...attempt }: DeliveryAttempt,
): Item => ({ ...keys.deliveryAttempt(workspaceId, batchId, number), ...withoutNulls(attempt) });

const attemptOf = (item: Item): DeliveryAttempt => ({
  number: Number((item.sk as string).split('#')[1]),
  ...notEnded,
  ...fieldsOf<Pick<DeliveryAttempt, 'round' | 'at'>>(item),
});
