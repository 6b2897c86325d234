import { CfnOutput, Fn, Stack } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';
import { Firewall, type FirewallSettings } from './firewall.ts';
import type { Stage } from './stage.ts';

/** The Region in which CloudFront requires firewalls and certificates, and to which it reports metrics. */
export const cloudFrontRegion = 'us-east-1';

const outputName = 'WebAclArn';
const nameOf = ({ name }: Stage): string => `agent-service-${name}-firewall`;

/**
 * The firewall of a distribution. It has a stack of its own because CloudFront requires it in us-east-1. It has no
 * data.
 */
export class FirewallStack extends Stack {
  constructor(scope: Construct, id: string, props: { stage: Stage; firewall: FirewallSettings }) {
    super(scope, id, {
      stackName: nameOf(props.stage),
      description: 'The firewall in front of chats with published AI agents',
      env: { region: cloudFrontRegion },
      terminationProtection: props.stage.settings.production,
    });
    const { attrArn } = new Firewall(this, 'Firewall', {
      firewall: props.firewall,
      inFrontOf: 'distribution',
    });
    new CfnOutput(this, outputName, { value: attrArn });
  }
}

/**
 * The ARN of the stage's firewall. CloudFormation reads it from the firewall's stack during the deployment of the
 * service.
 */
export const webAclArnOf = (stage: Stage): string =>
  Fn.getStackOutput(nameOf(stage), outputName, cloudFrontRegion);
