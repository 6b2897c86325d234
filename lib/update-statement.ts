import type { ITableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';

/**
 * Partition keys (adapters/dynamo/table/keys.ts) of items that a function may update although it has no general
 * permission for UpdateItem.
 */
const partitionKeys = {
  /** `rateBucket`: the token buckets of API keys. */
  rateBuckets: 'W#*#RATE#*',
  /** `usage`: counters. */
  usage: 'W#*#USAGE',
  /** `apiKey`: for the time of its last use. */
  apiKeys: 'KEY#*',
} as const;

export type UpdatedItems = keyof typeof partitionKeys;

export const updateStatement = (table: ITableV2, items: readonly UpdatedItems[]): PolicyStatement =>
  new PolicyStatement({
    actions: ['dynamodb:UpdateItem'],
    resources: [table.tableArn],
    conditions: {
      'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': items.map((kind) => partitionKeys[kind]) },
    },
  });
