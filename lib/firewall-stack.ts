import { CfnOutput, Fn, Stack } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';
import { Firewall, type FirewallSettings } from './firewall.ts';
import type { Stage } from './stage.ts';

/** The Region from which CloudFront takes its firewalls and certificates. */
export const cloudFrontRegion = 'us-east-1';

const outputName = 'WebAclArn';
const nameOf = ({ name }: Stage): string => `agent-service-${name}-firewall`;

/** The firewall of a distribution. It holds no data and stands apart only because CloudFront wants it in one Region. */
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

/** Its ARN, read from the stack when another is deployed. */
export const webAclArnOf = (stage: Stage): string =>
  Fn.getStackOutput(nameOf(stage), outputName, cloudFrontRegion);
