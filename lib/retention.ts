import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { CfnResource, RemovalPolicy, type Stack } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';
import type { Settings } from './settings.ts';

/**
 * The policy of resources that production retains when their stack is deleted. The rollback of the deployment that
 * creates them does not retain them: otherwise every failed first deployment would leave more of them.
 */
export const removalPolicyOf = ({ production }: Pick<Settings, 'production'>): RemovalPolicy =>
  production ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY;

/** Returns how long a log group retains its lines, and whether it is retained when its stack is deleted. */
export const logsOf = (settings: Settings) => ({
  retention: settings.logRetentionDays,
  removalPolicy: removalPolicyOf(settings),
});

/**
 * Fixes the logical id of a resource that must not be replaced, such as one with data. CloudFormation replaces a
 * resource whose logical id changes, for example because its construct has moved in the code.
 */
export function pinLogicalId(construct: Construct, logicalId: string): void {
  const resource = construct.node.defaultChild;
  if (!(resource instanceof CfnResource))
    throw new Error(`${construct.node.path} has no resource with a logical id`);
  resource.overrideLogicalId(logicalId);
}

/**
 * Creates a log group for CDK's function that empties buckets before they are deleted, if the stack has this function;
 * it has at most one. Without the group, Lambda would create one whose lines never expire.
 */
export function expireLogsOfBucketEmptier(stack: Stack, settings: Settings): void {
  const emptier = stack.node
    .tryFindChild('Custom::S3AutoDeleteObjectsCustomResourceProvider')
    ?.node.findChild('Handler');
  if (!(emptier instanceof CfnResource)) return;
  const { logGroupName } = new LogGroup(stack, 'BucketEmptierLogs', logsOf(settings));
  emptier.addPropertyOverride('LoggingConfig.LogGroup', logGroupName);
}
