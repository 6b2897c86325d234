import { keys } from '#adapters/dynamo/table/keys.ts';
import { allOf, type Item, type Table, type Write } from '#adapters/dynamo/table/table.ts';
import { limits } from '#contract/limits.ts';
import { formatLimits, limitName, type RateClass, rateClasses } from '#contract/rate-limits.ts';
import type {
  IdempotencyKey,
  IdempotencyRecord,
  IdempotencyStore,
  Work,
} from '#domain/platform/idempotency.ts';
import type { SlotReport, SlotReports } from '#domain/platform/shares.ts';
import type { BucketChange, FullTimes, RateBucketStore } from '#domain/workspaces/rate-limits.ts';

const idempotencySeconds = limits.idempotencyHours * 60 * 60;
const secondsOf = ({ at }: IdempotencyKey): number => Math.ceil(at / 1000);

export const dynamoIdempotencyStore = (table: Table): IdempotencyStore => ({
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
});

export const idempotencyPut = (key: IdempotencyKey, work: Work) => ({
  Item: {
    ...keys.idempotencyKey(key.workspaceId, key.hash),
    fingerprint: key.fingerprint,
    work,
    ttl: secondsOf(key) + idempotencySeconds,
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

/** After `expiresAt`: a function whose clock is behind may still use the buckets. */
const bucketSeconds = 60;

export const dynamoRateBucketStore = (table: Table): RateBucketStore => ({
  async take({ workspaceId, apiKeyId, limits }, changes, { now, expiresAt }) {
    const parts = changes.map((change, index) => expressionsOf(change, index, now));
    const { isDone, item = {} } = await table.updateIf({
      Key: keys.rateBuckets(workspaceId, apiKeyId, formatLimits(limits)),
      UpdateExpression: `SET #ttl = :ttl, ${parts.map(({ update }) => update).join(', ')}`,
      ConditionExpression: parts.map(({ condition }) => condition).join(' AND '),
      ExpressionAttributeNames: Object.assign({ '#ttl': 'ttl' }, ...parts.map(({ names }) => names)),
      ExpressionAttributeValues: Object.assign(
        { ':now': now, ':ttl': Math.ceil(expiresAt / 1000) + bucketSeconds },
        ...parts.map(({ values }) => values),
      ),
      ReturnValues: 'UPDATED_NEW',
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    // After a write, `item` has only the buckets that were changed.
    return { taken: isDone, fullTimes: fullTimesOf(item) };
  },
});

/** DynamoDB has no maximum of two values, so there are two forms: for a full bucket, and for any other. */
function expressionsOf({ rateClass, amount, isFull, latest }: BucketChange, index: number, now: number) {
  const [name, value, last] = [`#b${index}`, `:v${index}`, `:l${index}`];
  const names = { [name]: attributeOf(rateClass) };
  if (isFull)
    return {
      names,
      update: `${name} = ${value}`,
      condition: `(attribute_not_exists(${name}) OR ${name} <= :now)`,
      values: { [value]: now + amount },
    };
  return {
    names,
    update: `${name} = ${name} + ${value}`,
    condition: `${name} > :now${latest === null ? '' : ` AND ${name} <= ${last}`}`,
    values: { [value]: amount, ...(latest !== null && { [last]: latest }) },
  };
}

const attributeOf = (rateClass: RateClass): string => limitName(rateClass, '_');

const fullTimesOf = (item: Item): FullTimes =>
  Object.fromEntries(
    rateClasses
      .map((rateClass) => [rateClass, item[attributeOf(rateClass)]])
      .filter(([, fullAt]) => fullAt !== undefined),
  );

/** Of a slot report, in seconds. It is used for a shorter time. */
const reportSeconds = 600;

export const dynamoSlotReports = (table: Table): SlotReports => ({
  put: ({ process, at, slots }) =>
    table.put({
      Item: { ...keys.slotReport(process), at, slots, ttl: Math.ceil(at / 1000) + reportSeconds },
    }),

  async all() {
    const items = await table.queryAll(allOf(keys.slotReport('')));
    return items.map(({ sk, at, slots }) => ({ process: sk, at, slots }) as SlotReport);
  },
});
