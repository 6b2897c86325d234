import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { CfnResource, type Stack } from 'aws-cdk-lib/core';
import { removalPolicyOf } from './removal-policy.ts';
import type { Settings } from './settings.ts';

/**
 * Creates a log group for the library's function that empties buckets before they are deleted. Without it Lambda would
 * create a group whose lines never expire. A stack has at most one such function.
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
