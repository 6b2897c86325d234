import type { IAlarm } from 'aws-cdk-lib/aws-cloudwatch';
import {
  type ILambdaDeploymentConfig,
  LambdaApplication,
  LambdaDeploymentConfig,
  LambdaDeploymentGroup,
} from 'aws-cdk-lib/aws-codedeploy';
import { Policy, PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Validations } from 'aws-cdk-lib/core';
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
    Validations.of(this.role).acknowledge({
      id: 'AwsSolutions-IAM5[Resource::*]',
      reason:
        'CodeDeploy looks at alarms as its own policy lets it, in lists, which are not limited to single alarms.',
    });
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
    // A policy for each: one for all would need every function before any alias, and functions name each other's aliases.
    const policy = new Policy(this, `${handler.node.id}Policy`, {
      roles: [this.role],
      statements: [
        new PolicyStatement({
          actions: ['lambda:GetAlias', 'lambda:UpdateAlias', 'lambda:GetProvisionedConcurrencyConfig'],
          resources: [handler.functionArn, `${handler.functionArn}:live`],
        }),
      ],
    });
    group.node.addDependency(policy);
  }
}
