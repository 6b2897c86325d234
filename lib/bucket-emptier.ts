import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { CfnResource, type Stack } from 'aws-cdk-lib/core';
import { removalPolicyOf } from './removal-policy.ts';
import type { Settings } from './settings.ts';

/**
 * Gives the function that empties buckets before they are deleted a log group. The library makes the function, one for the
 * whole stack, without one: Lambda would create a group whose lines never expire.
 */
export function expireLogsOfBucketEmptier(stack: Stack, settings: Settings): void {
  const emptier = stack.node
    .tryFindChild('Custom::S3AutoDeleteObjectsCustomResourceProvider')
    ?.node.findChild('Handler');
  if (!(emptier instanceof CfnResource)) return;
  const { logGroupName } = new LogGroup(stack, 'BucketEmptierLogs', {
    retention: settings.logRetentionDays,
    removalPolicy: removalPolicyOf(settings),
  });
  emptier.addPropertyOverride('LoggingConfig.LogGroup', logGroupName);
}
