import { keys } from '#adapters/dynamo/table/keys.ts';
import type { Item, Table, Write } from '#adapters/dynamo/table/table.ts';
import { limits } from '#contract/limits.ts';
import type {
  IdempotencyKey,
  IdempotencyRecord,
  IdempotencyStore,
  Work,
} from '#domain/platform/idempotency.ts';

const retentionSeconds = limits.idempotencyHours * 60 * 60;
const secondsOf = ({ at }: IdempotencyKey): number => Math.ceil(at / 1000);

export function dynamoIdempotencyStore(table: Table): IdempotencyStore {
  return {
    async find(key) {
      const item = await table.get(keys.idempotencyKey(key.workspaceId, key.hash));
      // DynamoDB's TTL may delete an expired item days later.
      return item === undefined || (item.ttl as number) <= secondsOf(key) ? undefined : recordOf(item);
    },

    async store(key, work) {
      const put = idempotencyPut(key, work);
      const { isDone, item } = await table.putIf({ ...put, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' });
      return recordOf(isDone || item === undefined ? put.Item : item);
    },
  };
}

export const idempotencyPut = (key: IdempotencyKey, work: Work) => ({
  Item: {
    ...keys.idempotencyKey(key.workspaceId, key.hash),
    fingerprint: key.fingerprint,
    work,
    ttl: secondsOf(key) + retentionSeconds,
  },
  ConditionExpression: 'attribute_not_exists(pk) OR #ttl <= :now',
  ExpressionAttributeNames: { '#ttl': 'ttl' },
  ExpressionAttributeValues: { ':now': secondsOf(key) },
});

export const idempotencyWrites = (key: IdempotencyKey | null, work: Work): Write[] =>
  key === null ? [] : [{ Put: idempotencyPut(key, work) }];

const recordOf = (item: Item): IdempotencyRecord => ({
  fingerprint: item.fingerprint as string,
  work: item.work as Work,
});
