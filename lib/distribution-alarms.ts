import { Fn, Stack } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';
import { Alarms } from './alarms.ts';
import { distributionIdOutput, watchDistribution } from './distribution.ts';
import { cloudFrontRegion } from './firewall.ts';
import type { ServiceStack } from './service-stack.ts';
import type { Stage } from './stage.ts';

/**
 * The service is outside us-east-1, but CloudFront reports its metrics to us-east-1 alone. An alarm can watch only
 * metrics, and notify only topics, of its own Region.
 */
export class DistributionAlarms extends Stack {
  constructor(
    scope: Construct,
    id: string,
    props: { stage: Stage; service: ServiceStack /** The Region of the service stack. */; region: string },
  ) {
    const { stage, service, region } = props;
    super(scope, id, {
      stackName: `${service.stackName}-distribution-${region}`,
      description: `The alarm of the distribution of ${service.stackName} in ${region}`,
      env: { region: cloudFrontRegion },
    });
    const alarms = new Alarms(this, 'Alarms', stage.settings);
    watchDistribution(alarms, Fn.getStackOutput(service.stackName, distributionIdOutput, region));
    this.addStackDependency(service);
  }
}
