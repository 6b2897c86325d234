import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { CfnResource, RemovalPolicy, type Stack } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';
import type { Settings } from './settings.ts';

/**
 * Production retains resources, except in the rollback of the deployment that creates them, because each failed first
 * deployment would leave them behind.
 */
export const removalPolicyOf = ({ production }: Pick<Settings, 'production'>): RemovalPolicy =>
  production ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY;

export const logsOf = (settings: Settings) => ({
  retention: settings.logRetentionDays,
  removalPolicy: removalPolicyOf(settings),
});

/** For resources that must not be replaced: CloudFormation replaces a resource whose logical id changes. */
export function pinLogicalId(construct: Construct, logicalId: string): void {
  const resource = construct.node.defaultChild;
  if (!(resource instanceof CfnResource))
    throw new Error(`${construct.node.path} has no resource with a logical id`);
  resource.overrideLogicalId(logicalId);
}

/** Without this group, Lambda would create one for CDK's function, and its lines would never expire. */
export function expireLogsOfBucketEmptier(stack: Stack, settings: Settings): void {
  const emptier = stack.node
    .tryFindChild('Custom::S3AutoDeleteObjectsCustomResourceProvider')
    ?.node.findChild('Handler');
  if (!(emptier instanceof CfnResource)) return;
  const { logGroupName } = new LogGroup(stack, 'BucketEmptierLogs', logsOf(settings));
  emptier.addPropertyOverride('LoggingConfig.LogGroup', logGroupName);
}
