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

/**
 * Lambda assigns processor time in proportion to memory, a whole processor at 1,769 MB. 1,024 MB give 0.58 of a
 * processor: enough for a cold start to load a bundle, without paying for a processor that waits for a model.
 */
const usualMegabytes = 1024;

/** A Lambda function with the defaults of this service. */
export class ServiceFunction extends LambdaFunction {
  /**
   * Callers invoke this alias, which a deployment moves to the new version. The gateway, queues and schedules refer to
   * it, because CloudFormation must create the alias before them.
   */
  readonly alias: Alias & IFunction;
  /**
   * The same alias by its name, for callers that need it only at run time, such as other functions. A reference to the
   * resource would make their own aliases wait until this alias has moved, so functions would roll out one after
   * another.
   */
  readonly aliasByName: IFunction;

  constructor(
    scope: Construct,
    id: string,
    props: {
      description: string;
      codeFolder: string;
      timeoutSeconds: number;
      /** `usualMegabytes` by default. */
      memoryMegabytes?: number;
      /** Reserved concurrency, for all versions and aliases together. */
      reservedExecutions?: number | undefined;
      settings: Settings;
    },
  ) {
    const { settings, reservedExecutions } = props;
    const logGroup = new LogGroup(scope, `${id}Logs`, logsOf(settings));
    // The role that the CDK would create may write to every log group of the account.
    const role = new ServiceRole(scope, `${id}Role`, 'lambda.amazonaws.com');
    logGroup.grantWrite(role);
    Validations.of(role).acknowledge({
      id: 'AwsSolutions-IAM5[Resource::*]',
      reason: 'X-Ray has no permissions for single resources.',
    });
    // With a fixed logical id, a move of the construct in the code does not replace the log group.
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
    // The cast is necessary, because CDK's classes and interfaces disagree under exactOptionalPropertyTypes.
    const version = this.currentVersion as IVersion;
    const aliasName = 'live';
    this.alias = new Alias(this, 'Live', { aliasName, version }) as Alias & IFunction;
    this.aliasByName = Alias.fromAliasAttributes(this, 'LiveByName', { aliasName, aliasVersion: version });
  }

  /**
   * Lets Lambda invoke the function with messages of the queue; the function may report some of them as failed. Lambda
   * receives and deletes messages with the function's role. CDK's `SqsEventSource` would grant more than Lambda needs.
   */
  receivesFrom(queue: Queue, limits: { readonly batchSize: number; readonly maxConcurrency?: number }): void {
    allow(['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes'], queue.queueArn)(this);
    this.alias.addEventSourceMapping(`SqsEventSource:${Names.nodeUniqueId(queue.node)}`, {
      eventSourceArn: queue.queueArn,
      reportBatchItemFailures: true,
      ...limits,
    });
  }

  /**
   * Runs the function at a rate, without retries. By default, Lambda would retry an asynchronous invocation twice, and
   * for up to six hours if it is throttled.
   * @param rule.maxEventAge a run that cannot start within this time is dropped: the next one does its work
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
