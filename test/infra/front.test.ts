import { describe, expect, test } from 'vitest';
import { firewallRules } from '../../bin/cost/fixed-costs.ts';
import { domain, synthesize } from './synthesize.ts';

const firewall = { mode: 'block', requestsInFiveMinutes: 500 };

/**
 * The rules of the groups in use that inspect bodies, as AWS documents their current versions (AWS WAF Developer Guide, "Baseline
 * rule groups": docs.aws.amazon.com/waf/latest/developerguide/aws-managed-rule-groups-list.html), and a rule for clients
 * without a User-Agent. AWS announces new rules in the change log of these pages: add them here. AWS accepts a name that a
 * group does not have, and then counts nothing.
 */
const countingRules: Readonly<Record<string, readonly string[]>> = {
  AWSManagedRulesAmazonIpReputationList: [],
  AWSManagedRulesCommonRuleSet: [
    'NoUserAgent_HEADER',
    'SizeRestrictions_BODY',
    'EC2MetaDataSSRF_BODY',
    'GenericLFI_BODY',
    'GenericRFI_BODY',
    'CrossSiteScripting_BODY',
  ],
  AWSManagedRulesKnownBadInputsRuleSet: ['JavaDeserializationRCE_BODY', 'Log4JRCE_BODY', 'ReactJSRCE_BODY'],
};

describe('with a distribution, domain and firewall', () => {
  const { resource, resources } = synthesize({
    settings: { webFunctions: 'all', domain, firewall },
  });
  const { DistributionConfig: config } = resource('AWS::CloudFront::Distribution').Properties;

  test('the distribution reads its firewall from the stack in us-east-1, and the gateway has no name', () => {
    expect(config).toMatchObject({
      WebACLId: {
        'Fn::GetStackOutput': {
          StackName: 'agent-service-production-firewall',
          OutputName: 'WebAclArn',
          Region: 'us-east-1',
        },
      },
    });
    expect(resources('AWS::ApiGateway::DomainName')).toEqual({});
  });

  test('the gateway’s own address is no way round it: it takes only what has the distribution’s secret', () => {
    const { Scope, DefaultAction, Rules } = resource('AWS::WAFv2::WebACL').Properties;
    expect([Scope, DefaultAction, Rules.map(({ Action }: { Action: object }) => Action)]).toEqual([
      'REGIONAL',
      { Allow: {} },
      [{ Block: {} }],
    ]);
    expect(Rules).toHaveLength(firewallRules.originFirewall);
    const [sent] = config.Origins[0].OriginCustomHeaders;
    const matches = (SearchString: unknown) => ({
      ByteMatchStatement: {
        FieldToMatch: { SingleHeader: { Name: sent?.HeaderName } },
        PositionalConstraint: 'EXACTLY',
        SearchString,
        TextTransformations: [{ Priority: 0, Type: 'NONE' }],
      },
    });
    // What the distribution sends, and what it sends after a rotation.
    expect(Rules[0]?.Statement.NotStatement.Statement.OrStatement.Statements).toEqual([
      matches(sent?.HeaderValue),
      matches(expect.objectContaining({ 'Fn::Join': expect.anything() })),
    ]);
    expect(JSON.stringify(sent?.HeaderValue)).toContain('resolve:secretsmanager:');
    expect(resource('AWS::WAFv2::WebACLAssociation').Properties).toMatchObject({
      WebACLArn: { 'Fn::GetAtt': [expect.stringContaining('OriginFirewall'), 'Arn'] },
      ResourceArn: { 'Fn::Join': ['', expect.arrayContaining(['::/restapis/'])] },
    });
  });

  test('one that counts closes nothing, and a stage without one has none', () => {
    const counting = synthesize({ settings: { webFunctions: 'all', firewall: { mode: 'count' } } });
    expect(counting.resource('AWS::WAFv2::WebACL').Properties).toMatchObject({
      Rules: [{ Name: 'PastTheDistribution', Action: { Count: {} } }],
    });
    const without = synthesize({ settings: { webFunctions: 'all' } });
    expect(without.resources('AWS::WAFv2::WebACL')).toEqual({});
  });
});

describe('without a distribution', () => {
  const { template, resource } = synthesize({ settings: { webFunctions: 'none', domain, firewall } });

  test('the gateway has the name, and its path is the same as at its own address', () => {
    expect(resource('AWS::ApiGateway::DomainName').Properties).toMatchObject({
      DomainName: 'agents.example.com',
      RegionalCertificateArn: domain.certificateArn,
      SecurityPolicy: 'TLS_1_2',
    });
    expect(resource('AWS::ApiGateway::BasePathMapping').Properties).toMatchObject({ BasePath: 'api' });
    expect(resource('AWS::Route53::RecordSet').Properties).toMatchObject({ Type: 'A' });
    expect(template.findOutputs('BaseAddress').BaseAddress?.Value).toBe('https://agents.example.com/api/v1');
  });

  test('the firewall stands before the gateway’s stage', () => {
    template.hasResourceProperties('AWS::WAFv2::WebACL', { Scope: 'REGIONAL', DefaultAction: { Allow: {} } });
    expect(JSON.stringify(resource('AWS::WAFv2::WebACLAssociation').Properties.ResourceArn)).toMatch(
      /\/restapis\/.*DeploymentStageapi/,
    );
  });

  test('it limits the rate of an address in the words of the service', () => {
    const { Rules, CustomResponseBodies } = resource('AWS::WAFv2::WebACL').Properties;
    expect(Rules[0]).toMatchObject({
      Statement: { RateBasedStatement: { AggregateKeyType: 'IP', Limit: 500, EvaluationWindowSec: 300 } },
      Action: { Block: { CustomResponse: { ResponseCode: 429 } } },
    });
    expect(JSON.parse(CustomResponseBodies.TooManyRequests?.Content ?? '')).toEqual({
      data: null,
      message: 'Rate limit exceeded',
      error_code: 10029,
    });
  });

  test('every rule that inspects bodies only counts, since a message may quote anything and a file contain it', () => {
    const counting: Record<string, string[]> = {};
    for (const { Statement, OverrideAction } of resource('AWS::WAFv2::WebACL').Properties.Rules) {
      const group = Statement.ManagedRuleGroupStatement;
      if (group === undefined) continue;
      expect(OverrideAction).toEqual({ None: {} });
      counting[group.Name] = [];
      for (const { Name, ActionToUse } of group.RuleActionOverrides ?? []) {
        expect(ActionToUse).toEqual({ Count: {} });
        counting[group.Name]?.push(Name);
      }
    }
    expect(counting).toEqual(countingRules);
  });

  test('one that counts lets everything pass', () => {
    const counting = synthesize({ settings: { webFunctions: 'none', firewall: { mode: 'count' } } });
    const { Rules } = counting.resource('AWS::WAFv2::WebACL').Properties;
    expect(Rules.length).toBe(firewallRules.firewall);
    for (const { Action, OverrideAction } of Rules) expect(Action ?? OverrideAction).toEqual({ Count: {} });
  });
});
