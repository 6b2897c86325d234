import type { IAlarm } from 'aws-cdk-lib/aws-cloudwatch';
import {
  type ILambdaDeploymentConfig,
  LambdaApplication,
  LambdaDeploymentConfig,
  LambdaDeploymentGroup,
} from 'aws-cdk-lib/aws-codedeploy';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { Validations } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import type { ServiceFunction } from './service-function.ts';
import { ServiceRole } from './service-role.ts';
import type { Settings } from './settings.ts';

/** If an alarm is raised during a shift, CodeDeploy shifts the alias back, and CloudFormation rolls back the stack. */
export class Rollout extends Construct {
  private readonly application: LambdaApplication;
  private readonly role: ServiceRole;
  /**
   * Names single functions, because a prefix would also match those of other stages. IAM checks
   * GetProvisionedConcurrencyConfig with the alias's ARN, and the other calls with the function's.
   */
  private readonly moves = new PolicyStatement({
    actions: ['lambda:GetAlias', 'lambda:UpdateAlias', 'lambda:GetProvisionedConcurrencyConfig'],
  });
  private readonly deploymentConfig: ILambdaDeploymentConfig;

  constructor(scope: Construct, id: string, name: Exclude<Settings['rollout'], 'AllAtOnce'>) {
    super(scope, id);
    this.deploymentConfig = LambdaDeploymentConfig.fromLambdaDeploymentConfigName(
      this,
      'Configuration',
      `CodeDeployDefault.Lambda${name}`,
    );
    this.application = new LambdaApplication(this, 'Application');
    // AWS's managed policy would also allow CodeDeploy to call hooks and read buckets.
    this.role = new ServiceRole(this, 'Role', 'codedeploy.amazonaws.com');
    this.role.addToPolicy(new PolicyStatement({ actions: ['cloudwatch:DescribeAlarms'], resources: ['*'] }));
    this.role.addToPolicy(this.moves);
    Validations.of(this.role).acknowledge({
      id: 'AwsSolutions-IAM5[Resource::*]',
      reason:
        'CodeDeploy reads alarms in lists, as in its managed policy. IAM cannot limit a list to single alarms.',
    });
  }

  /** @param alarms at most ten, the maximum of CodeDeploy */
  of(handler: ServiceFunction, alarms: readonly IAlarm[]): void {
    this.moves.addResources(handler.functionArn, handler.aliasByName.functionArn);
    const { application, deploymentConfig } = this;
    const role = this.role.withoutPolicyUpdates();
    const props = { application, alias: handler.alias, deploymentConfig, role, alarms: [...alarms] };
    new LambdaDeploymentGroup(this, handler.node.id, props);
  }
}
