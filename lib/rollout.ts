import type { IAlarm } from 'aws-cdk-lib/aws-cloudwatch';
import {
  type ILambdaDeploymentConfig,
  LambdaApplication,
  LambdaDeploymentConfig,
  LambdaDeploymentGroup,
} from 'aws-cdk-lib/aws-codedeploy';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Aws, Stack, Validations } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import type { GradualRollout } from './rollout-names.ts';
import type { ServiceFunction } from './service-function.ts';

const configurations: Readonly<Record<GradualRollout, ILambdaDeploymentConfig>> = {
  Canary10Percent5Minutes: LambdaDeploymentConfig.CANARY_10PERCENT_5MINUTES,
  Canary10Percent10Minutes: LambdaDeploymentConfig.CANARY_10PERCENT_10MINUTES,
  Canary10Percent15Minutes: LambdaDeploymentConfig.CANARY_10PERCENT_15MINUTES,
  Canary10Percent30Minutes: LambdaDeploymentConfig.CANARY_10PERCENT_30MINUTES,
  Linear10PercentEvery1Minute: LambdaDeploymentConfig.LINEAR_10PERCENT_EVERY_1MINUTE,
  Linear10PercentEvery2Minutes: LambdaDeploymentConfig.LINEAR_10PERCENT_EVERY_2MINUTES,
  Linear10PercentEvery3Minutes: LambdaDeploymentConfig.LINEAR_10PERCENT_EVERY_3MINUTES,
  Linear10PercentEvery10Minutes: LambdaDeploymentConfig.LINEAR_10PERCENT_EVERY_10MINUTES,
};

/**
 * Moves the aliases of functions to new versions bit by bit, and back when an alarm goes off meanwhile, with the whole
 * stack: a deployment that fails is one that CloudFormation undoes.
 */
export class Rollout extends Construct {
  private readonly application: LambdaApplication;
  private readonly role: Role;
  private readonly configuration: ILambdaDeploymentConfig;

  constructor(scope: Construct, id: string, name: GradualRollout) {
    super(scope, id);
    this.configuration = configurations[name];
    this.application = new LambdaApplication(this, 'Application');
    // AWS's policy for this service also lets it publish, call hooks and read buckets, which nothing here needs.
    this.role = new Role(this, 'Role', { assumedBy: new ServicePrincipal('codedeploy.amazonaws.com') });
    this.role.addToPolicy(new PolicyStatement({ actions: ['cloudwatch:DescribeAlarms'], resources: ['*'] }));
    const functions = `function:${functionNamePrefix(Stack.of(this).stackName)}*`;
    this.role.addToPolicy(
      new PolicyStatement({
        actions: ['lambda:GetAlias', 'lambda:UpdateAlias', 'lambda:GetProvisionedConcurrencyConfig'],
        resources: [`arn:${Aws.PARTITION}:lambda:${Aws.REGION}:${Aws.ACCOUNT_ID}:${functions}`],
      }),
    );
    Validations.of(this.role).acknowledge(
      {
        id: 'AwsSolutions-IAM5[Resource::*]',
        reason:
          'CodeDeploy looks at alarms as its own policy lets it, in lists, which are not limited to single alarms.',
      },
      {
        id: `AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:lambda:<AWS::Region>:<AWS::AccountId>:${functions}]`,
        reason:
          'The functions of this stack, by the prefix of their names: each by its own name takes 390 characters, and all policies of a role together may have 10,240.',
      },
    );
  }

  /** @param alarms any of which ends the rollout of this function; ten at most, says CodeDeploy */
  of(handler: ServiceFunction, alarms: readonly IAlarm[]): void {
    const group = new LambdaDeploymentGroup(this, handler.node.id, {
      application: this.application,
      alias: handler.alias,
      deploymentConfig: this.configuration,
      role: this.role.withoutPolicyUpdates(),
      alarms: [...alarms],
    });
    group.node.addDependency(this.role);
  }
}

/**
 * What the names of all functions of a stack begin with. CloudFormation names them STACK-LOGICALID-RANDOM. Where that
 * exceeds Lambda's 64 characters it shortens both parts, and leaves 25 of the stack's name (seen, not documented).
 */
export const functionNamePrefix = (stackName: string): string => `${stackName}-`.slice(0, 25);
