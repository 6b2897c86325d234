import type { ITableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import type { Bucket } from 'aws-cdk-lib/aws-s3';
import type { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Stack } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';
import { variables } from '#runtime/environment/variables.ts';
import { bedrockStatements } from './bedrock-models.ts';
import { type Writes, writeStatements } from './written-items.ts';

export type ReadAction = 'GetItem' | 'BatchGetItem' | 'Query' | 'ConditionCheckItem';
export type ObjectAction =
  | 'GetObject'
  | 'PutObject'
  | 'PutObjectTagging'
  | 'DeleteObject'
  | 'ListBucket'
  | 'AbortMultipartUpload';

interface GrantTarget {
  addStatement(statement: PolicyStatement): void;
  setVariable(name: string, value: string): void;
}

/**
 * What a Lambda function or a web function may access. Each method grants exactly the named actions on a resource, and
 * puts the resource's name or ARN into an environment variable.
 */
export class FunctionGrants {
  private readonly scope: Construct;
  private readonly target: GrantTarget;

  constructor(scope: Construct, target: GrantTarget) {
    this.scope = scope;
    this.target = target;
  }

  setVariable(name: string, value: string): void {
    this.target.setVariable(name, value);
  }

  /** Reads are allowed on every item, writes on the named kinds alone. */
  usesTable(table: ITableV2, reads: readonly ReadAction[], writes: Writes): void {
    if (reads.length > 0)
      this.allow(
        reads.map((action) => `dynamodb:${action}`),
        table.tableArn,
      );
    for (const statement of writeStatements(table, writes)) this.target.addStatement(statement);
    this.setVariable(variables.dataTable, table.tableName);
  }

  /** @param actions with ListBucket, S3 responds with 404 for a missing object; without it, with 403 */
  usesObjects(bucket: Bucket, actions: readonly ObjectAction[], variable: string): void {
    this.allow(
      actions.filter((action) => action !== 'ListBucket').map((action) => `s3:${action}`),
      bucket.arnForObjects('*'),
    );
    if (actions.includes('ListBucket')) this.allow(['s3:ListBucket'], bucket.bucketArn);
    this.setVariable(variable, bucket.bucketName);
  }

  readsSecret(secret: Secret, variable: string): void {
    this.readsSecrets([secret], variable);
  }

  /** The variable has the ARNs in the order of the secrets, with commas between them. */
  readsSecrets(secrets: readonly Secret[], variable: string): void {
    const arns = secrets.map(({ secretArn }) => secretArn);
    this.allow(['secretsmanager:GetSecretValue'], ...arns);
    this.setVariable(variable, arns.join(','));
  }

  queriesKnowledgeBases(ids: readonly string[]): void {
    const { partition, region, account } = Stack.of(this.scope);
    for (const id of ids)
      this.allow(['bedrock:Retrieve'], `arn:${partition}:bedrock:${region}:${account}:knowledge-base/${id}`);
  }

  invokesModels(models: readonly string[]): void {
    for (const statement of bedrockStatements(this.scope, models)) this.target.addStatement(statement);
  }

  invokes({ functionArn }: IFunction, variable: string): void {
    this.allow(['lambda:InvokeFunction'], functionArn);
    this.setVariable(variable, functionArn);
  }

  private allow(actions: string[], ...resources: string[]): void {
    this.target.addStatement(new PolicyStatement({ actions, resources }));
  }
}
