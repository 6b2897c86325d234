import { CfnWebACL } from 'aws-cdk-lib/aws-wafv2';
import { CfnOutput, Fn, Stack } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';
import { errorTable, failure } from '#contract/errors.ts';
import { originSecretHeader } from '#runtime/environment/variables.ts';
import type { Settings } from './settings.ts';
import type { Stage } from './stage.ts';
import type { OriginSecrets } from './trust.ts';

export type FirewallSettings = NonNullable<Settings['firewall']>;

/**
 * Some rules only count: those that inspect bodies, because messages are long and quote code and exploits, and that for
 * a missing User-Agent, because the interface does not require the header.
 */
const managedGroups: readonly { name: string; counting: readonly string[] }[] = [
  { name: 'AWSManagedRulesAmazonIpReputationList', counting: [] },
  {
    name: 'AWSManagedRulesCommonRuleSet',
    counting: [
      'NoUserAgent_HEADER',
      'SizeRestrictions_BODY',
      'EC2MetaDataSSRF_BODY',
      'GenericLFI_BODY',
      'GenericRFI_BODY',
      'CrossSiteScripting_BODY',
    ],
  },
  {
    name: 'AWSManagedRulesKnownBadInputsRuleSet',
    counting: ['JavaDeserializationRCE_BODY', 'Log4JRCE_BODY', 'ReactJSRCE_BODY'],
  },
];

export class Firewall extends CfnWebACL {
  constructor(
    scope: Construct,
    id: string,
    { firewall, inFrontOf }: { firewall: FirewallSettings; inFrontOf: 'gateway' | 'distribution' },
  ) {
    const { status, errorCode } = errorTable.rateLimited;
    const counts = firewall.mode === 'count';
    super(scope, id, {
      scope: inFrontOf === 'gateway' ? 'REGIONAL' : 'CLOUDFRONT',
      description: 'Protects the API of chats and batches',
      defaultAction: { allow: {} },
      visibilityConfig: measured(`${Stack.of(scope).stackName}-firewall`),
      customResponseBodies: {
        TooManyRequests: {
          contentType: 'APPLICATION_JSON',
          content: JSON.stringify(failure(errorCode, 'Rate limit exceeded')),
        },
      },
      rules: [
        {
          name: 'RateOfAnAddress',
          priority: 0,
          statement: {
            rateBasedStatement: {
              aggregateKeyType: 'IP',
              limit: firewall.requestsInFiveMinutes,
              evaluationWindowSec: 300,
            },
          },
          action: counts
            ? { count: {} }
            : {
                block: {
                  customResponse: {
                    responseCode: status,
                    customResponseBodyKey: 'TooManyRequests',
                    responseHeaders: [
                      { name: 'Retry-After', value: '60' },
                      { name: 'Cache-Control', value: 'no-store' },
                    ],
                  },
                },
              },
          visibilityConfig: measured('RateOfAnAddress'),
        },
        ...managedGroups.map(
          ({ name, counting }, index): CfnWebACL.RuleProperty => ({
            name,
            priority: index + 1,
            statement: {
              managedRuleGroupStatement: {
                vendorName: 'AWS',
                name,
                ruleActionOverrides: counting.map((rule) => ({ name: rule, actionToUse: { count: {} } })),
              },
            },
            overrideAction: counts ? { count: {} } : { none: {} },
            visibilityConfig: measured(name),
          }),
        ),
      ],
    });
  }
}

/** Has no rules about addresses, because the requests of many clients come from one address of CloudFront. */
export class OriginFirewall extends CfnWebACL {
  constructor(
    scope: Construct,
    id: string,
    { firewall, originSecrets }: { firewall: FirewallSettings; originSecrets: OriginSecrets },
  ) {
    const fromDistribution: CfnWebACL.StatementProperty = {
      orStatement: {
        statements: originSecrets.accepted.map(({ secretValue }) => ({
          byteMatchStatement: {
            fieldToMatch: { singleHeader: { Name: originSecretHeader } },
            positionalConstraint: 'EXACTLY',
            searchString: secretValue.unsafeUnwrap(),
            textTransformations: [{ priority: 0, type: 'NONE' }],
          },
        })),
      },
    };
    super(scope, id, {
      scope: 'REGIONAL',
      description: 'Blocks requests that bypass the distribution',
      defaultAction: { allow: {} },
      visibilityConfig: measured(`${Stack.of(scope).stackName}-origin-firewall`),
      rules: [
        {
          name: 'PastTheDistribution',
          priority: 0,
          statement: { notStatement: { statement: fromDistribution } },
          action: firewall.mode === 'count' ? { count: {} } : { block: {} },
          visibilityConfig: measured('PastTheDistribution'),
        },
      ],
    });
  }
}

const measured = (metricName: string): CfnWebACL.VisibilityConfigProperty => ({
  cloudWatchMetricsEnabled: true,
  metricName,
  sampledRequestsEnabled: true,
});

/** CloudFront requires firewalls and certificates in this Region, and reports its metrics to it. */
export const cloudFrontRegion = 'us-east-1';

const outputName = 'WebAclArn';
const nameOf = ({ name }: Stage): string => `agent-service-${name}-firewall`;

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

export const webAclArnOf = (stage: Stage): string =>
  Fn.getStackOutput(nameOf(stage), outputName, cloudFrontRegion);
