import { Template } from 'aws-cdk-lib/assertions';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Stack } from 'aws-cdk-lib/core';
import { expect, test } from 'vitest';
import { bedrockStatements } from '#lib/bedrock-models.ts';
import { parseSettings } from '#lib/settings.ts';
import { variables } from '#runtime/environment/variables.ts';
import { createApp, evaluate, type Statement, statementsByRole, synthesize } from './synthesize.ts';

const { resources, resource, statements, environments } = synthesize();
const functions = Object.entries(resources('AWS::Lambda::Function')).map(
  ([id, value]) => [id.replace(/[0-9A-F]{8}$/, ''), value] as const,
);

test('unless a stage says otherwise, its functions reach public addresses alone, search nowhere, and show no error of a provider', () => {
  const given = new Set([...environments.values()].flatMap(Object.keys));
  expect(given).toContain(variables.webhookRetrySeconds);
  for (const name of [variables.showProviderErrors, variables.webhookPlainLoopback, variables.webhookAllow])
    expect(given).not.toContain(name);
  expect([...given].filter((name) => /OUTBOUND|SEARCH/.test(name))).toEqual([]);
});

test('queues call aliases, which no permission of a role shows', () => {
  const mappings = Object.values(resources('AWS::Lambda::EventSourceMapping'));
  expect(mappings).toHaveLength(2);
  for (const { Properties } of mappings)
    expect(JSON.stringify(Properties.FunctionName)).toMatch(/"\w+Live[0-9A-F]{8}"|":live"/);
});

test('time-outs of a reply stand in order: lease, stall, plain reply, function', () => {
  const given = environments.get('SendMessage') ?? {};
  const order = [
    Number(given[variables.leaseSeconds]),
    Number(given[variables.streamTimeoutSeconds]),
    Number(given[variables.plainReplySeconds]),
    120, // CloudFront's read timeout
    Number(resource('AWS::Lambda::Function', 'SendMessage').Properties.Timeout),
  ];
  expect(order).toEqual([30, 90, 110, 120, 315]);
  expect(order).toEqual(order.toSorted((a, b) => a - b));
});

test('outputs and functions tell what agents may call', () => {
  const toolFunctions = ['orders:live', 'refunds:7'].map(
    (name) => `arn:aws:lambda:eu-central-1:123456789012:function:${name}`,
  );
  const { template } = synthesize({ settings: { toolFunctions, toolAllow: ['crm.internal:443'] } });
  const { Outputs, Resources } = template.toJSON();
  expect(Outputs.ToolFunctions).toEqual({ Value: JSON.stringify(toolFunctions) });
  expect(JSON.stringify(Resources)).toContain('"TOOL_ALLOW":"crm.internal:443"');
});

test('no function is given a secret as a plain value', () => {
  for (const [, { Properties }] of functions)
    expect(JSON.stringify(Properties.Environment)).not.toMatch(/resolve:secretsmanager|SecretString/);
});

/** The permission that X-Ray tracing needs: X-Ray has no ARNs to restrict it to. */
const isTracing = ({ Action, Resource }: Statement): boolean =>
  Resource === '*' && [Action].flat().toSorted().join() === 'xray:PutTelemetryRecords,xray:PutTraceSegments';

test('only the workflow and the roll-out have permissions on every resource, apart from tracing', () => {
  const owners = [...statements].filter(([, all]) =>
    all.some((statement) => [statement.Resource].flat().includes('*') && !isTracing(statement)),
  );
  // To deliver logs, and to describe alarms.
  expect(owners.map(([owner]) => owner).toSorted()).toEqual(['BatchesMachine', 'Rollout']);
});

const pseudoParameters = {
  'AWS::Partition': 'aws',
  'AWS::Region': 'eu-west-1',
  'AWS::AccountId': '123456789012',
};

/** The permissions that a role gets for these models, with the template's references resolved as CloudFormation does. */
function grantsOf(bedrockModels: string[]) {
  const stack = new Stack(createApp(), 'Grants');
  const role = new Role(stack, 'Role', { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
  for (const statement of bedrockStatements(stack, bedrockModels)) role.addToPolicy(statement);
  const template = Template.fromStack(stack);
  const [statements = []] = statementsByRole(template).values();
  return (evaluate(template, statements, pseudoParameters) as Statement[]).map(
    ({ Action, Resource, Condition }) => {
      expect(Action).toEqual(['bedrock:InvokeModel', 'bedrock:InvokeModelWithResponseStream']);
      return [[Resource].flat().toSorted(), Condition];
    },
  );
}

const throughProfile = { Null: { 'bedrock:InferenceProfileArn': 'false' } };
const here = 'arn:aws:bedrock:eu-west-1';
const profile = (id: string) => `${here}:123456789012:inference-profile/${id}`;
const anywhere = (id: string) => `arn:aws:bedrock:*::foundation-model/${id}`;
const application = 'arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123';
const ofAnotherRegion = 'arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.amazon.nova-lite-v1:0';
const foundation = 'arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-lite-v1:0';

test.each<[what: string, models: string[], direct: string[], throughProfiles?: string[]]>([
  [
    'a model in the Region of the stack',
    ['anthropic.claude-3-haiku-20240307-v1:0'],
    [`${here}::foundation-model/anthropic.claude-3-haiku-20240307-v1:0`],
  ],
  [
    "a geography's profile with its model wherever it is routed",
    ['eu.amazon.nova-lite-v1:0'],
    [profile('eu.amazon.nova-lite-v1:0')],
    [anywhere('amazon.nova-lite-v1:0')],
  ],
  [
    'a global profile with its model here and in no Region, as AWS documents it',
    ['global.anthropic.claude-sonnet-4-6'],
    [profile('global.anthropic.claude-sonnet-4-6')],
    [
      'arn:aws:bedrock:::foundation-model/anthropic.claude-sonnet-4-6',
      `${here}::foundation-model/anthropic.claude-sonnet-4-6`,
    ],
  ],
  ['an application profile with whatever it stands for', [application], [application], [anywhere('*')]],
  ['a model of another Region as it is', [foundation], [foundation]],
  ['a profile of another Region', [ofAnotherRegion], [ofAnotherRegion], [anywhere('amazon.nova-lite-v1:0')]],
  [
    'models and profiles by two statements',
    ['amazon.nova-micro-v1:0', 'eu.amazon.nova-lite-v1:0', 'eu.amazon.nova-pro-v1:0'],
    [
      `${here}::foundation-model/amazon.nova-micro-v1:0`,
      profile('eu.amazon.nova-lite-v1:0'),
      profile('eu.amazon.nova-pro-v1:0'),
    ],
    [anywhere('amazon.nova-lite-v1:0'), anywhere('amazon.nova-pro-v1:0')],
  ],
])('grants %s', (_, models, direct, throughProfiles) => {
  const expected: unknown[] = [[direct.toSorted(), undefined]];
  if (throughProfiles !== undefined) expected.push([throughProfiles, throughProfile]);
  expect(grantsOf(models)).toEqual(expected);
});

test('without models and knowledge bases, no role may use any', () => {
  expect(parseSettings({}).bedrockKnowledgeBases).toEqual([]);
  expect(JSON.stringify([...synthesize().statements])).not.toContain('bedrock:');
});
