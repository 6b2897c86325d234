import { CfnResource } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';

/**
 * Fixes the logical id of a resource with data, or with an address that clients use. CloudFormation replaces a resource
 * whose logical id changes, for example because its construct has moved in the code.
 */
export function pinLogicalId(construct: Construct, logicalId: string): void {
  const resource = construct.node.defaultChild;
  if (!(resource instanceof CfnResource))
    throw new Error(`${construct.node.path} has no resource with a logical id`);
  resource.overrideLogicalId(logicalId);
}
