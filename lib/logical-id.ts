import { CfnResource } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';

/** Gives a resource that holds data, or a client's address, its name in the template: no move of code can ever replace it. */
export function pinLogicalId(construct: Construct, logicalId: string): void {
  const resource = construct.node.defaultChild;
  if (!(resource instanceof CfnResource)) throw new Error(`${construct.node.path} has no resource to name`);
  resource.overrideLogicalId(logicalId);
}
