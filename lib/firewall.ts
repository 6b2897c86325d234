import type { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { CfnWebACL } from 'aws-cdk-lib/aws-wafv2';
import { Stack } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';
import { failure } from '#contract/envelope.ts';
import { errorTable } from '#contract/errors.ts';
import { originSecretHeader } from '#runtime/environment/variables.ts';
import type { Settings } from './settings.ts';

export type FirewallSettings = NonNullable<Settings['firewall']>;

/**
 * Rule groups that AWS maintains, each with the rules of it that only count. Every rule that inspects bodies counts:
 * messages quote code, markup, exploits and addresses, and files have up to 50 MB. A client need not send a User-Agent.
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

/** Refuses requests before the service sees them: known bad senders and forms, and addresses that send too much. */
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
      description: 'Before the gateway of chats and batches',
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

/**
 * Closes the gateway's own address beside a distribution with a firewall, which would else be a way round it. The
 * distribution's rules would not do here: to them all requests come from CloudFront's few addresses.
 */
export class OriginFirewall extends CfnWebACL {
  constructor(
    scope: Construct,
    id: string,
    { firewall, originSecret }: { firewall: FirewallSettings; originSecret: Secret },
  ) {
    const fromDistribution: CfnWebACL.StatementProperty = {
      byteMatchStatement: {
        fieldToMatch: { singleHeader: { Name: originSecretHeader } },
        positionalConstraint: 'EXACTLY',
        searchString: originSecret.secretValue.unsafeUnwrap(),
        textTransformations: [{ priority: 0, type: 'NONE' }],
      },
    };
    super(scope, id, {
      scope: 'REGIONAL',
      description: 'Lets nobody to the gateway but its distribution',
      defaultAction: { allow: {} },
      visibilityConfig: measured(`${Stack.of(scope).stackName}-origin-firewall`),
      rules: [
        {
          name: 'PastTheDistribution',
          priority: 0,
          statement: { notStatement: { statement: fromDistribution } },
          // Refused with 403, in the envelope that the gateway has for whatever a firewall filters.
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
