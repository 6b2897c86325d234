import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { keys } from '#adapters/dynamo/table/keys.ts';
import type { Item, Table } from '#adapters/dynamo/table/table.ts';
import { formatRateLimit } from '#contract/rate-limits.ts';
import type { BucketChange, RateBucket, RateBucketStore } from '#domain/workspaces/rate-bucket-store.ts';

/** Extra time before TTL deletes a bucket: the clocks of functions differ, and one may still see the bucket in use. */
const retentionSeconds = 60;

export function dynamoRateBucketStore(table: Table): RateBucketStore {
  const take = async (
    { workspaceId, apiKeyId, rateClass, limit }: RateBucket,
    { now, interval }: { now: number; interval: number },
    change: { fullAt: string; condition: string; values: Item },
  ): Promise<BucketChange> => {
    try {
      const item = await table.update({
        Key: keys.rateBucket(workspaceId, apiKeyId, rateClass, formatRateLimit(limit)),
        UpdateExpression: `SET full_at = ${change.fullAt}, #ttl = :ttl`,
        ConditionExpression: change.condition,
        ExpressionAttributeNames: { '#ttl': 'ttl' },
        ExpressionAttributeValues: {
          ...change.values,
          // At this time the bucket is full, even if it is empty now.
          ':ttl': Math.ceil((now + interval * limit.burst) / 1000) + retentionSeconds,
        },
        ReturnValues: 'UPDATED_NEW',
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      });
      return { taken: true, fullAt: item.full_at as number };
    } catch (error) {
      if (!(error instanceof ConditionalCheckFailedException)) throw error;
      // A bucket without an item is full.
      return { taken: false, fullAt: error.Item === undefined ? 0 : unmarshall(error.Item).full_at };
    }
  };
  return {
    takeFirst: (bucket, time) =>
      take(bucket, time, {
        fullAt: ':next',
        condition: 'attribute_not_exists(pk) OR full_at <= :now',
        values: { ':now': time.now, ':next': time.now + time.interval },
      }),
    takeNext: (bucket, time) =>
      take(bucket, time, {
        fullAt: 'full_at + :interval',
        condition: 'full_at > :now AND full_at <= :latest',
        values: { ':now': time.now, ':interval': time.interval, ':latest': time.latest },
      }),
  };
}
