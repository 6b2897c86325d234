import type { TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';

/** Lets a function take tokens from the buckets of API keys (`rateBucket` of adapters/dynamo/keys.ts), and write nothing else. */
export const rateBucketStatement = (table: TableV2): PolicyStatement =>
  new PolicyStatement({
    actions: ['dynamodb:UpdateItem'],
    resources: [table.tableArn],
    conditions: { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': ['W#*#RATE#*'] } },
  });
