import { type Key, keys } from '#adapters/dynamo/table/keys.ts';
import type { Item, Table } from '#adapters/dynamo/table/table.ts';
import { transactIfFirst } from '#adapters/dynamo/table/transact-with-retry.ts';
import type { Audit } from '#adapters/dynamo/workspaces/audit-log.ts';
import type { DeliveryStore } from '#domain/webhooks/delivery-store.ts';
import type { DeliveryAttempt, DeliveryOwner, WebhookDelivery } from '#domain/webhooks/webhook-delivery.ts';
import { webhookEntry } from './webhook-entry.ts';

export function dynamoDeliveryStore(table: Table, audit: Audit): DeliveryStore {
  return {
    async get(owner) {
      const item = await table.get(keyOf(owner));
      return item && deliveryOf(owner, item);
    },

    async start(delivery, { at, nextAt }) {
      const started = {
        ...delivery,
        attempts: delivery.attempts + 1,
        allAttempts: delivery.allAttempts + 1,
        nextAt,
      };
      const attempt: DeliveryAttempt = {
        number: started.allAttempts,
        round: started.round,
        at,
        duration: null,
        status: null,
        failure: null,
      };
      const isStarted = await transactIfFirst(table, async () => (TableName) => [
        { Put: { TableName, Item: deliveryItem(started), ...ifUnchanged(delivery) } },
        { Put: { TableName, Item: attemptItem(delivery, attempt) } },
      ]);
      return isStarted ? { delivery: started, attempt } : undefined;
    },

    async end(delivery, attempt, next) {
      const isCurrent = await transactIfFirst(table, async () => (TableName) => [
        { Put: { TableName, Item: deliveryItem({ ...delivery, ...next }), ...ifUnchanged(delivery) } },
        { Put: { TableName, Item: attemptItem(delivery, attempt) } },
      ]);
      if (!isCurrent) await table.put({ Item: attemptItem(delivery, attempt) });
    },

    async exhaust(delivery) {
      const exhausted: WebhookDelivery = { ...delivery, state: 'exhausted' };
      await transactIfFirst(table, async () => (TableName) => [
        { Put: { TableName, Item: deliveryItem(exhausted), ...ifUnchanged(delivery) } },
      ]);
    },

    async restart(delivery, at) {
      const restarted: WebhookDelivery = {
        ...delivery,
        state: 'pending',
        round: delivery.round + 1,
        attempts: 0,
        nextAt: at,
      };
      const isDone = await transactIfFirst(table, async () => (TableName) => [
        { Put: { TableName, Item: deliveryItem(restarted), ...ifUnchanged(delivery) } },
        { Put: { TableName, Item: webhookEntry(delivery, at) } },
        ...audit(TableName, {
          ...{ action: 'webhook resent', workspaceId: delivery.workspaceId, target: delivery.batchId },
          changes: { round: restarted.round },
        }),
      ]);
      return isDone ? restarted : undefined;
    },

    replaceWebhook: ({ workspaceId, batchId }, read, replacement) =>
      transactIfFirst(table, async () => (TableName) => [
        {
          Update: {
            TableName,
            Key: keys.batchWebhook(workspaceId, batchId),
            UpdateExpression: 'SET webhook = :replacement',
            ConditionExpression: 'webhook = :read',
            ExpressionAttributeValues: { ':replacement': replacement, ':read': read },
          },
        },
        ...audit(TableName, {
          ...{ action: 'webhook secret replaced', workspaceId, target: batchId },
          changes: {},
        }),
      ]),

    async attempts(owner) {
      const first = keys.deliveryAttempt(owner.workspaceId, owner.batchId, 0);
      const last = keys.deliveryAttempt(owner.workspaceId, owner.batchId, 9_999_999);
      const pages = table.queryPages({
        KeyConditionExpression: 'pk = :pk AND sk BETWEEN :first AND :last',
        ExpressionAttributeValues: { ':pk': first.pk, ':first': first.sk, ':last': last.sk },
      });
      return (await Array.fromAsync(pages)).flat().map(attemptOf);
    },
  };
}

const keyOf = ({ workspaceId, batchId }: DeliveryOwner): Key => keys.webhookDelivery(workspaceId, batchId);

/** Condition: no other caller has changed the delivery since it was read. */
const ifUnchanged = ({ state, round, attempts }: WebhookDelivery): Item => ({
  ConditionExpression: '#state = :state AND #round = :round AND attempts = :attempts',
  ExpressionAttributeNames: { '#state': 'state', '#round': 'round' },
  ExpressionAttributeValues: { ':state': state, ':round': round, ':attempts': attempts },
});

export const deliveryItem = (delivery: WebhookDelivery): Item => ({
  ...keyOf(delivery),
  body: delivery.body,
  state: delivery.state,
  round: delivery.round,
  attempts: delivery.attempts,
  all_attempts: delivery.allAttempts,
  next_at: delivery.nextAt,
});

const deliveryOf = ({ workspaceId, batchId }: DeliveryOwner, item: Item): WebhookDelivery => ({
  workspaceId,
  batchId,
  body: item.body as string,
  state: item.state as WebhookDelivery['state'],
  round: item.round as number,
  attempts: item.attempts as number,
  allAttempts: item.all_attempts as number,
  nextAt: item.next_at as string,
});

const attemptItem = ({ workspaceId, batchId }: DeliveryOwner, attempt: DeliveryAttempt): Item => ({
  ...keys.deliveryAttempt(workspaceId, batchId, attempt.number),
  round: attempt.round,
  at: attempt.at,
  ...(attempt.duration !== null && { duration: attempt.duration }),
  ...(attempt.status !== null && { status: attempt.status }),
  ...(attempt.failure !== null && { failure: attempt.failure }),
});

const attemptOf = (item: Item): DeliveryAttempt => ({
  number: Number((item.sk as string).split('#')[1]),
  round: item.round as number,
  at: item.at as string,
  duration: (item.duration as number | undefined) ?? null,
  status: (item.status as number | undefined) ?? null,
  failure: (item.failure as string | undefined) ?? null,
});
