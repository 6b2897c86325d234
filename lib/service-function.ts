import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
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
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import type { StateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import { ArnFormat, Duration, Names, Stack, Validations } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';
import { variables } from '#runtime/environment/variables.ts';
import { FunctionGrants } from './function-grants.ts';
import { pinLogicalId } from './logical-id.ts';
import { removalPolicyOf } from './removal-policy.ts';
import { ServiceRole } from './service-role.ts';
import type { Settings } from './settings.ts';

/**
 * A Lambda function with the defaults of this service. Each method grants exactly the named actions on a resource, and
 * puts the resource's name, ARN or URL into an environment variable. `grants` has the methods that web functions share.
 */
export class ServiceFunction extends LambdaFunction {
  /**
   * Callers invoke this alias. A roll-out shifts it gradually to a new version, and back if the new version fails. The
   * gateway, queues and the schedule refer to it, because CloudFormation must create the alias before them.
   */
  readonly alias: Alias & IFunction;
  /**
   * The same alias by its name, for callers that need it only at run time: functions and the workflow. A reference to
   * the resource would make their own aliases wait until this alias has moved, so functions would roll out one after
   * another.
   */
  readonly aliasByName: IFunction;
  readonly grants: FunctionGrants;

  constructor(
    scope: Construct,
    id: string,
    props: {
      description: string;
      codeFolder: string;
      timeoutSeconds: number;
      /** The setting `functionMemoryMegabytes` by default. */
      memoryMegabytes?: number;
      /** Reserved concurrency, for all versions and aliases together. */
      reservedExecutions?: number | undefined;
      settings: Settings;
    },
  ) {
    const { settings } = props;
    const logGroup = new LogGroup(scope, `${id}Logs`, {
      retention: settings.logRetentionDays,
      removalPolicy: removalPolicyOf(settings),
    });
    // The role that the CDK would create may write to every log group of the account.
    const role = new ServiceRole(scope, `${id}Role`, 'lambda.amazonaws.com');
    logGroup.grantWrite(role);
    Validations.of(role).acknowledge({
      id: 'AwsSolutions-IAM5[Resource::*]',
      reason: 'X-Ray has no permissions for single resources.',
    });
    // Production retains the log group after its stack is deleted. A fixed logical id ensures that no change of the
    // code replaces it.
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
    this.grants = new FunctionGrants(this, {
      addStatement: (statement) => this.addToRolePolicy(statement),
      setVariable: (name, value) => void this.addEnvironment(name, value),
    });
  }

  encryptsWith(key: Key, variable: string): void {
    this.usesKey('kms:Encrypt', key);
    this.addEnvironment(variable, key.keyArn);
  }

  decryptsWith(key: Key, variable: string): void {
    this.usesKey('kms:Decrypt', key);
    this.addEnvironment(variable, key.keyArn);
  }

  /**
   * Lambda invokes the function with messages of the queue; the function may report some of them as failed. Lambda
   * receives and deletes messages with the function's role. The library's `SqsEventSource` would grant more than Lambda
   * needs.
   */
  receivesFrom(queue: Queue, limits: { readonly batchSize: number; readonly maxConcurrency?: number }): void {
    this.allow(['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes'], queue.queueArn);
    this.alias.addEventSourceMapping(`SqsEventSource:${Names.nodeUniqueId(queue.node)}`, {
      eventSourceArn: queue.queueArn,
      reportBatchItemFailures: true,
      ...limits,
    });
  }

  sendsTo(queue: Queue, variable: string = variables.batchQueueUrl): void {
    this.allow(['sqs:SendMessage'], queue.queueArn);
    this.addEnvironment(variable, queue.queueUrl);
  }

  /** Lets the function read how many messages the queue has. */
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

  /** Lets the function complete a wait of the state machine with its task token. */
  completesCallbacksOf(machine: StateMachine): void {
    this.allow(['states:SendTaskSuccess'], machine.stateMachineArn);
  }

  /** Only for a named batch of a named workspace (adapters/kms-secret-cipher.ts): KMS decrypts for the same one alone. */
  private usesKey(action: 'kms:Encrypt' | 'kms:Decrypt', key: Key): void {
    this.addToRolePolicy(
      new PolicyStatement({
        actions: [action],
        resources: [key.keyArn],
        conditions: {
          StringLike: { 'kms:EncryptionContext:workspace': 'ws_*', 'kms:EncryptionContext:batch': '?*' },
        },
      }),
    );
  }

  private allow(actions: string[], resource: string): void {
    this.addToRolePolicy(new PolicyStatement({ actions, resources: [resource] }));
  }
}
