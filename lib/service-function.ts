import type { TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { Key } from 'aws-cdk-lib/aws-kms';
import {
  Alias,
  Architecture,
  Code,
  type IFunction,
  type IVersion,
  Function as LambdaFunction,
  LoggingFormat,
  Runtime,
  Tracing,
} from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import type { Bucket } from 'aws-cdk-lib/aws-s3';
import type { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import type { StateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import { ArnFormat, Duration, Names, Stack, Validations } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';
import { variables } from '#runtime/environment/variables.ts';
import { bedrockStatements } from './bedrock-models.ts';
import { pinLogicalId } from './logical-id.ts';
import { removalPolicyOf } from './removal-policy.ts';
import type { Settings } from './settings.ts';
import { type UpdatedItems, updateStatement } from './update-statement.ts';

export type TableAction =
  | 'GetItem'
  | 'BatchGetItem'
  | 'Query'
  | 'PutItem'
  | 'UpdateItem'
  | 'DeleteItem'
  | 'BatchWriteItem'
  | 'ConditionCheckItem';
export type ObjectAction =
  | 'GetObject'
  | 'PutObject'
  | 'PutObjectTagging'
  | 'DeleteObject'
  | 'ListBucket'
  | 'AbortMultipartUpload';

/**
 * A Lambda with the defaults of this service. What it may touch is said by its methods:
 * each grants exactly the named actions and tells the function, in one call, where to find the thing.
 */
export class ServiceFunction extends LambdaFunction {
  /**
   * What callers call: it stays with the last version while a new one is tried, and goes back when that fails. The gateway,
   * queues and the schedule refer to it, because CloudFormation must have made it before it makes them.
   */
  readonly alias: Alias & IFunction;
  /**
   * The same alias by its name, for callers that need it only at run time: functions and the workflow. If they referred to
   * the alias, their own aliases would wait until it has moved, and a deployment would roll out in waves.
   */
  readonly aliasByName: IFunction;

  constructor(
    scope: Construct,
    id: string,
    props: {
      description: string;
      codeFolder: string;
      timeoutSeconds: number;
      /** The stage's setting unless said. */
      memoryMegabytes?: number;
      /** Of all its versions and aliases together. */
      reservedExecutions?: number | undefined;
      settings: Settings;
    },
  ) {
    const { settings } = props;
    const logGroup = new LogGroup(scope, `${id}Logs`, {
      retention: settings.logRetentionDays,
      removalPolicy: removalPolicyOf(settings),
    });
    // A role of its own: the one that CDK would make may write to every log group of the account.
    const role = new Role(scope, `${id}Role`, { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
    logGroup.grantWrite(role);
    Validations.of(role).acknowledge({
      id: 'AwsSolutions-IAM5[Resource::*]',
      reason: 'X-Ray takes traces and has no permissions for single resources.',
    });
    // What the logs of a production stack tell outlives it, and is found again under the same name.
    pinLogicalId(logGroup, `${id}Logs`);

    super(scope, id, {
      description: props.description,
      code: Code.fromAsset(props.codeFolder),
      handler: 'index.handler',
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      timeout: Duration.seconds(props.timeoutSeconds),
      memorySize: props.memoryMegabytes ?? settings.functionMemoryMegabytes,
      ...(props.reservedExecutions !== undefined && {
        reservedConcurrentExecutions: props.reservedExecutions,
      }),
      role,
      logGroup,
      loggingFormat: LoggingFormat.JSON,
      tracing: Tracing.ACTIVE,
      environment: {
        [variables.metricsNamespace]: Stack.of(scope).stackName,
        [variables.logLevel]: settings.logLevel,
      },
    });
    // The library's classes and interfaces disagree under exactOptionalPropertyTypes.
    const version = this.currentVersion as IVersion;
    const aliasName = 'live';
    this.alias = new Alias(this, 'Live', { aliasName, version }) as Alias & IFunction;
    this.aliasByName = Alias.fromAliasAttributes(this, 'LiveByName', { aliasName, aliasVersion: version });
  }

  usesTable(table: TableV2, actions: readonly TableAction[]): void {
    this.allow(
      actions.map((action) => `dynamodb:${action}`),
      table.tableArn,
    );
    this.addEnvironment(variables.dataTable, table.tableName);
  }

  updatesItems(table: TableV2, items: readonly UpdatedItems[]): void {
    this.addToRolePolicy(updateStatement(table, items));
  }

  /** Who may not list a bucket is told of an object that is not there, as of one that it may not read: ListBucket is for that. */
  usesObjects(bucket: Bucket, actions: readonly ObjectAction[], variable: string): void {
    this.allow(
      actions.filter((action) => action !== 'ListBucket').map((action) => `s3:${action}`),
      bucket.arnForObjects('*'),
    );
    if (actions.includes('ListBucket')) this.allow(['s3:ListBucket'], bucket.bucketArn);
    this.addEnvironment(variable, bucket.bucketName);
  }

  readsSecret(secret: Secret, variable: string): void {
    this.allow(['secretsmanager:GetSecretValue'], secret.secretArn);
    this.addEnvironment(variable, secret.secretArn);
  }

  encryptsWith(key: Key, variable: string): void {
    this.allow(['kms:Encrypt'], key.keyArn);
    this.addEnvironment(variable, key.keyArn);
  }

  decryptsWith(key: Key, variable: string): void {
    this.allow(['kms:Decrypt'], key.keyArn);
    this.addEnvironment(variable, key.keyArn);
  }

  queriesKnowledgeBases(ids: readonly string[]): void {
    const { partition, region, account } = Stack.of(this);
    for (const id of ids)
      this.allow(['bedrock:Retrieve'], `arn:${partition}:bedrock:${region}:${account}:knowledge-base/${id}`);
  }

  invokesModels(models: readonly string[]): void {
    for (const statement of models.flatMap((model) => bedrockStatements(this, model)))
      this.addToRolePolicy(statement);
  }

  invokes({ aliasByName: { functionArn } }: ServiceFunction, variable: string): void {
    this.allow(['lambda:InvokeFunction'], functionArn);
    this.addEnvironment(variable, functionArn);
  }

  /**
   * Is called with the messages of a queue, and may fail some of them. Lambda receives and deletes in the name of the
   * function's role; the library's own event source would grant more than Lambda's documentation asks for.
   */
  receivesFrom(queue: Queue, limits: { readonly batchSize: number; readonly maxConcurrency?: number }): void {
    this.allow(['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes'], queue.queueArn);
    this.alias.addEventSourceMapping(`SqsEventSource:${Names.nodeUniqueId(queue.node)}`, {
      eventSourceArn: queue.queueArn,
      reportBatchItemFailures: true,
      ...limits,
    });
  }

  sendsTo(queue: Queue): void {
    this.allow(['sqs:SendMessage'], queue.queueArn);
    this.addEnvironment(variables.batchQueueUrl, queue.queueUrl);
  }

  /** How many messages are in a queue. */
  readsDepthOf(queue: Queue): void {
    this.allow(['sqs:GetQueueAttributes'], queue.queueArn);
  }

  starts(machine: StateMachine): void {
    this.allow(['states:StartExecution'], machine.stateMachineArn);
    this.addEnvironment(variables.batchWorkflowArn, machine.stateMachineArn);
  }

  readsExecutionsOf(machine: StateMachine): void {
    this.allow(
      ['states:DescribeExecution'],
      Stack.of(this).formatArn({
        service: 'states',
        resource: 'execution',
        resourceName: `${machine.stateMachineName}:*`,
        arnFormat: ArnFormat.COLON_RESOURCE_NAME,
      }),
    );
  }

  /** Ends a wait that a state machine's execution has begun. */
  completesCallbacksOf(machine: StateMachine): void {
    this.allow(['states:SendTaskSuccess'], machine.stateMachineArn);
  }

  private allow(actions: string[], resource: string): void {
    this.addToRolePolicy(new PolicyStatement({ actions, resources: [resource] }));
  }
}
