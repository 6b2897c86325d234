import type { TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';

/** Partition keys of rows that functions update which may write nothing else of their kind (adapters/dynamo/table/keys.ts). */
const partitionKeys = {
  /** `rateBucket`: of API keys, from which requests take tokens. */
  rateBuckets: 'W#*#RATE#*',
  /** `usage`: what is counted. */
  usage: 'W#*#USAGE',
  /** `apiKey`: when it was used last. */
  apiKeys: 'KEY#*',
} as const;

export type UpdatedItems = keyof typeof partitionKeys;

export const updateStatement = (table: TableV2, items: readonly UpdatedItems[]): PolicyStatement =>
  new PolicyStatement({
    actions: ['dynamodb:UpdateItem'],
    resources: [table.tableArn],
    conditions: {
      'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': items.map((kind) => partitionKeys[kind]) },
    },
  });
