import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { keys } from '#adapters/dynamo/table/keys.ts';
import type { Item, Table, Write } from '#adapters/dynamo/table/table.ts';
import { limits } from '#contract/limits.ts';
import type { KeptRequest, RequestKey, Work } from '#domain/platform/request-key.ts';
import type { RequestKeyStore } from '#domain/platform/request-key-store.ts';

const secondsKept = limits.idempotencyHours * 60 * 60;
const secondsOf = ({ at }: RequestKey): number => Math.ceil(at / 1000);

export function dynamoRequestKeyStore(table: Table): RequestKeyStore {
  return {
    async find(key) {
      const item = await table.get(keys.requestKey(key.workspaceId, key.hash));
      // DynamoDB removes what has expired within days.
      return item === undefined || (item.ttl as number) <= secondsOf(key) ? undefined : keptIn(item);
    },

    async keep(key, work) {
      const { Item, ...condition } = keeping(key, work);
      try {
        await table.put({ Item, ...condition, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' });
        return keptIn(Item);
      } catch (error) {
        if (!(error instanceof ConditionalCheckFailedException) || error.Item === undefined) throw error;
        return keptIn(unmarshall(error.Item));
      }
    },
  };
}

/** The put that keeps what a request with a key becomes; it holds unless the key is in use. Small: one write unit. */
export const keeping = (key: RequestKey, work: Work) => ({
  Item: {
    ...keys.requestKey(key.workspaceId, key.hash),
    fingerprint: key.fingerprint,
    work,
    ttl: secondsOf(key) + secondsKept,
  },
  ConditionExpression: 'attribute_not_exists(pk) OR #ttl <= :now',
  ExpressionAttributeNames: { '#ttl': 'ttl' },
  ExpressionAttributeValues: { ':now': secondsOf(key) },
});

/** The same as a part of a transaction; of a request without a key there is nothing to keep. */
export const keepingWith = (TableName: string, key: RequestKey | null, work: Work): Write[] =>
  key === null ? [] : [{ Put: { TableName, ...keeping(key, work) } }];

const keptIn = (item: Item): KeptRequest => ({
  fingerprint: item.fingerprint as string,
  work: item.work as Work,
});
