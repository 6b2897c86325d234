import { Rule, RuleTargetInput, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction as LambdaTarget } from 'aws-cdk-lib/aws-events-targets';
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
import { Duration, Names, Stack, Validations } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';
import { variables } from '#runtime/environment/variables.ts';
import { allow } from './needs.ts';
import { logsOf, pinLogicalId } from './retention.ts';
import { ServiceRole } from './service-role.ts';
import type { Settings } from './settings.ts';

/** 0.58 of a processor, because Lambda gives a whole one at 1,769 MB: enough for a cold start to load a bundle. */
const usualMegabytes = 1024;

export class ServiceFunction extends LambdaFunction {
  /** For what CloudFormation must create after the alias, such as schedules. */
  readonly alias: Alias & IFunction;
  /**
   * For callers that need the alias only at run time. A reference to the resource would make their own aliases wait for
   * it, and functions would roll out one after another.
   */
  readonly aliasByName: IFunction;

  constructor(
    scope: Construct,
    id: string,
    props: {
      description: string;
      codeFolder: string;
      timeoutSeconds: number;
      memoryMegabytes?: number;
      reservedExecutions?: number | undefined;
      settings: Settings;
    },
  ) {
    const { settings, reservedExecutions } = props;
    const logGroup = new LogGroup(scope, `${id}Logs`, logsOf(settings));
    // The role that CDK would create may write to every log group of the account.
    const role = new ServiceRole(scope, `${id}Role`, 'lambda.amazonaws.com');
    logGroup.grantWrite(role);
    Validations.of(role).acknowledge({
      id: 'AwsSolutions-IAM5[Resource::*]',
      reason: 'X-Ray has no permissions for single resources.',
    });
    pinLogicalId(logGroup, `${id}Logs`);

    super(scope, id, {
      description: props.description,
      code: Code.fromAsset(props.codeFolder),
      handler: 'index.handler',
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      timeout: Duration.seconds(props.timeoutSeconds),
      memorySize: props.memoryMegabytes ?? usualMegabytes,
      ...(reservedExecutions !== undefined && { reservedConcurrentExecutions: reservedExecutions }),
      role,
      logGroup,
      loggingFormat: LoggingFormat.JSON,
      tracing: Tracing.ACTIVE,
      environment: {
        [variables.metricsNamespace]: Stack.of(scope).stackName,
        [variables.logLevel]: settings.logLevel,
      },
    });
    const version = this.currentVersion as IVersion;
    const aliasName = 'live';
    this.alias = new Alias(this, 'Live', { aliasName, version }) as Alias & IFunction;
    this.aliasByName = Alias.fromAliasAttributes(this, 'LiveByName', { aliasName, aliasVersion: version });
  }

  /** CDK's `SqsEventSource` would grant more than Lambda needs. */
  receivesFrom(queue: Queue, limits: { readonly batchSize: number; readonly maxConcurrency?: number }): void {
    allow(['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes'], queue.queueArn)(this);
    this.alias.addEventSourceMapping(`SqsEventSource:${Names.nodeUniqueId(queue.node)}`, {
      eventSourceArn: queue.queueArn,
      reportBatchItemFailures: true,
      ...limits,
    });
  }

  /**
   * By default, Lambda would retry an asynchronous invocation twice, and for up to six hours if it is throttled.
   * @param rule.maxEventAge a run that cannot start within this time is dropped
   */
  runsEvery(
    rate: Duration,
    rule: { scope: Construct; id: string; description: string; maxEventAge: Duration },
  ): void {
    const noRetries = { retryAttempts: 0, maxEventAge: rule.maxEventAge };
    new Rule(rule.scope, rule.id, {
      description: rule.description,
      schedule: Schedule.rate(rate),
      targets: [new LambdaTarget(this.alias, { event: RuleTargetInput.fromObject({}), ...noRetries })],
    });
    this.alias.configureAsyncInvoke(noRetries);
  }
}
