import { type IMetric, Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { AttributeType, type ITableV2, TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { BlockPublicAccess, Bucket, BucketEncryption, type LifecycleRule } from 'aws-cdk-lib/aws-s3';
import { Duration, Validations } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import { type Alarms, formula, sumOf } from './alarms.ts';
import { pinLogicalId, removalPolicyOf } from './retention.ts';
import type { Settings } from './settings.ts';

/**
 * On demand, because chats come in bursts. A restored table is no resource of the stack until an operator imports it
 * (docs/deploy.md).
 */
export function createTable(scope: Construct, settings: Settings): ITableV2 {
  const tables = new Construct(scope, 'Tables');
  if (settings.restoredTable !== undefined)
    return TableV2.fromTableName(tables, 'Restored', settings.restoredTable);
  const table = new TableV2(tables, 'Data', {
    partitionKey: { name: 'pk', type: AttributeType.STRING },
    sortKey: { name: 'sk', type: AttributeType.STRING },
    timeToLiveAttribute: 'ttl',
    pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
    deletionProtection: settings.production,
    removalPolicy: removalPolicyOf(settings),
  });
  pinLogicalId(table, 'DataTable');
  return table as ITableV2;
}

/** Unfinished multipart uploads are billed. An upload takes at most 15 minutes, a function's timeout. */
const unfinishedUploads: LifecycleRule = { abortIncompleteMultipartUploadAfter: Duration.days(1) };

export const createContentBucket = (scope: Construct, settings: Settings): Bucket =>
  createBucket(scope, 'Content', settings, {
    lifecycleRules: [
      unfinishedUploads,
      // What was prepared from ephemeral files, which themselves expire after a day.
      { prefix: 'attachments/ephemeral/', expiration: Duration.days(1) },
    ],
    whyNoAccessLogs:
      'Only the service reads and writes objects, and it logs each of its requests. An operator who must record more can use CloudTrail data events.',
  });

/** Not in the content bucket, because other functions may read these files, and other rules expire them. */
export const createFileBucket = (scope: Construct, settings: Settings): Bucket =>
  createBucket(scope, 'Files', settings, {
    lifecycleRules: [
      unfinishedUploads,
      // A tag and not a prefix marks what expires: in an upload's form, the scope may come after the file, when the
      // object already has its key.
      { tagFilters: { kept: 'no' }, expiration: Duration.days(1) },
    ],
    whyNoAccessLogs:
      'Only the service and presigned addresses, valid for fifteen minutes, reach objects. The service logs each of its requests. An operator who must record more can use CloudTrail data events.',
  });

/** Buckets have no versioning, because deleted data would stay in them. */
function createBucket(
  scope: Construct,
  id: 'Content' | 'Files',
  settings: Settings,
  { lifecycleRules, whyNoAccessLogs }: { lifecycleRules: LifecycleRule[]; whyNoAccessLogs: string },
): Bucket {
  const bucket = new Bucket(scope, id, {
    blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
    encryption: BucketEncryption.S3_MANAGED,
    enforceSSL: true,
    lifecycleRules,
    removalPolicy: removalPolicyOf(settings),
    // CloudFormation cannot delete a bucket that has objects.
    autoDeleteObjects: !settings.production,
  });
  const logicalId = id === 'Content' ? 'ContentBucket' : 'FileBucket';
  pinLogicalId(bucket, logicalId);
  Validations.of(bucket).acknowledge({ id: 'AwsSolutions-S1', reason: whyNoAccessLogs });
  Validations.of(scope).acknowledge({
    id: `AwsSolutions-IAM5[Resource::<${logicalId}.Arn>/*]`,
    reason: 'Object keys are made at run time, and the bucket contains no other objects.',
  });
  return bucket;
}

/** Only a few, because each metric costs money, and an outage of DynamoDB would concern these too. */
const operations = ['GetItem', 'Query', 'UpdateItem', 'TransactWriteItems'];

export function watchTable(alarms: Alarms, table: ITableV2): void {
  const events = (metricName: string, dimensions: Record<string, string> = {}) =>
    new Metric({
      namespace: 'AWS/DynamoDB',
      metricName,
      dimensionsMap: { TableName: table.tableName, ...dimensions },
      statistic: 'Sum',
    });
  // DynamoDB reports these events only while there are any. Without data, an alarm on its metrics may keep its state
  // (PutMetricAlarm, `TreatMissingData`). The reconciler reads the table every minute, which gives `consumed` a value.
  const withZero = (counted: Record<string, IMetric>) =>
    sumOf({ ...counted, zero: formula('0 * consumed', { consumed: events('ConsumedReadCapacityUnits') }) });
  alarms.add('TableThrottled', {
    summary: 'DynamoDB throttles reads or writes of the table.',
    metric: withZero({ reads: events('ReadThrottleEvents'), writes: events('WriteThrottleEvents') }),
    threshold: 50,
  });
  alarms.add('TableErrors', {
    summary: 'DynamoDB responds with internal errors.',
    metric: withZero(
      Object.fromEntries(
        operations.map((Operation) => [`of${Operation}`, events('SystemErrors', { Operation })]),
      ),
    ),
    threshold: 10,
  });
}
