import type { ITableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { Bucket } from 'aws-cdk-lib/aws-s3';
import type { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import type { StateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import { variables } from '#runtime/environment/variables.ts';
import { type Writes, writeStatements } from './written-items.ts';

interface Grantee {
  addToRolePolicy(statement: PolicyStatement): void;
  addEnvironment(name: string, value: string): unknown;
}

/** Gives a function what it needs: permissions and variables. */
export type Need = (grantee: Grantee) => void;

export type ReadAction = 'GetItem' | 'BatchGetItem' | 'Query' | 'ConditionCheckItem';
export const gets = ['GetItem', 'BatchGetItem'] as const;
export const reads = [...gets, 'Query'] as const;
export type ObjectAction =
  | 'GetObject'
  | 'PutObject'
  | 'PutObjectTagging'
  | 'DeleteObject'
  | 'ListBucket'
  | 'AbortMultipartUpload';
export type VariableName = keyof typeof variables;

export const allOf =
  (...needs: readonly Need[]): Need =>
  (grantee) => {
    for (const need of needs) need(grantee);
  };

export const nothing: Need = () => undefined;

export const variable =
  (name: VariableName, value: string | number): Need =>
  (grantee) =>
    grantee.addEnvironment(variables[name], String(value));

export const allow =
  (actions: string[], ...resources: string[]): Need =>
  (grantee) =>
    grantee.addToRolePolicy(new PolicyStatement({ actions, resources }));

/** Allows the reads for every item, but the writes only for the named kinds of items. */
export const usesTable = (table: ITableV2, reads: readonly ReadAction[], writes: Writes): Need =>
  allOf(
    reads.length === 0
      ? nothing
      : allow(
          reads.map((action) => `dynamodb:${action}`),
          table.tableArn,
        ),
    (grantee) => {
      for (const statement of writeStatements(table, writes)) grantee.addToRolePolicy(statement);
    },
    variable('dataTable', table.tableName),
  );

/** @param actions with ListBucket, a read of a missing object gets 404 from S3; without it, 403 */
export const usesObjects = (bucket: Bucket, name: VariableName, actions: readonly ObjectAction[]): Need =>
  allOf(
    allow(
      actions.filter((action) => action !== 'ListBucket').map((action) => `s3:${action}`),
      bucket.arnForObjects('*'),
    ),
    actions.includes('ListBucket') ? allow(['s3:ListBucket'], bucket.bucketArn) : nothing,
    variable(name, bucket.bucketName),
  );

export const readsSecrets = (name: VariableName, ...secrets: readonly Secret[]): Need => {
  const arns = secrets.map(({ secretArn }) => secretArn);
  return allOf(allow(['secretsmanager:GetSecretValue'], ...arns), variable(name, arns.join(',')));
};

/** @param owner the fields that the encryption context must have, besides the workspace */
export function usesKey(
  action: 'kms:Encrypt' | 'kms:Decrypt',
  { keyArn }: IKey,
  name: VariableName,
  owner: readonly string[],
): Need {
  const context = owner.map((field) => [`kms:EncryptionContext:${field}`, '?*']);
  const StringLike = { 'kms:EncryptionContext:workspace': 'ws_*', ...Object.fromEntries(context) };
  const statement = { actions: [action], resources: [keyArn], conditions: { StringLike } };
  return allOf((grantee) => grantee.addToRolePolicy(new PolicyStatement(statement)), variable(name, keyArn));
}

export const sendsTo = (queue: Queue, name: VariableName): Need =>
  allOf(allow(['sqs:SendMessage'], queue.queueArn), variable(name, queue.queueUrl));

export const starts = ({ stateMachineArn }: StateMachine): Need =>
  allOf(allow(['states:StartExecution'], stateMachineArn), variable('batchWorkflowArn', stateMachineArn));

export const completesCallbacksOf = ({ stateMachineArn }: StateMachine): Need =>
  allow(['states:SendTaskSuccess'], stateMachineArn);
