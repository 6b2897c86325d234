import { Template } from 'aws-cdk-lib/assertions';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Stack } from 'aws-cdk-lib/core';
import { describe, expect, test } from 'vitest';
import { bedrockStatements } from '#lib/bedrock-models.ts';
import { parseSettings } from '#lib/settings.ts';
import { createApp, type Statement, statementsByRole, synthesize } from './synthesize.ts';

/** The permissions that a role gets for these models, with the template's references resolved as CloudFormation does. */
function grantsOf(bedrockModels: string[]) {
  const stack = new Stack(createApp(), 'Grants');
  const role = new Role(stack, 'Role', { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
  for (const statement of bedrockStatements(stack, bedrockModels)) role.addToPolicy(statement);
  const statements = [...statementsByRole(Template.fromStack(stack)).values()].flat();
  return statements.map((statement) => {
    const { Action, Resource, Condition } = filledIn(statement) as Statement;
    return {
      actions: Action,
      resources: [Resource].flat(),
      ...(Condition !== undefined && { condition: Condition }),
    };
  });
}

const pseudoParameters: Record<string, string> = {
  'AWS::Partition': 'aws',
  'AWS::Region': 'eu-west-1',
  'AWS::AccountId': '123456789012',
};

function filledIn(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(filledIn);
  if (typeof value !== 'object' || value === null) return value;
  if ('Ref' in value) return pseudoParameters[String(value.Ref)] ?? value;
  if ('Fn::Join' in value)
    return (filledIn((value['Fn::Join'] as [string, unknown[]])[1]) as string[]).join('');
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, filledIn(inner)]));
}

const actions = ['bedrock:InvokeModel', 'bedrock:InvokeModelWithResponseStream'];
const throughProfile = { Null: { 'bedrock:InferenceProfileArn': 'false' } };

test('without models, no role may invoke any', () => {
  expect(JSON.stringify([...synthesize().statements])).not.toContain('bedrock:');
});

test('a model is granted in the Region of the stack', () => {
  expect(grantsOf(['anthropic.claude-3-haiku-20240307-v1:0'])).toEqual([
    {
      actions,
      resources: ['arn:aws:bedrock:eu-west-1::foundation-model/anthropic.claude-3-haiku-20240307-v1:0'],
    },
  ]);
});

test("a geography's profile is granted with its model wherever it is routed, through the profile alone", () => {
  const profile = 'arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.amazon.nova-lite-v1:0';
  expect(grantsOf(['eu.amazon.nova-lite-v1:0'])).toEqual([
    { actions, resources: [profile] },
    {
      actions,
      resources: ['arn:aws:bedrock:*::foundation-model/amazon.nova-lite-v1:0'],
      condition: throughProfile,
    },
  ]);
});

test('a global profile is granted with its model here and in no Region, as AWS documents it', () => {
  const profile =
    'arn:aws:bedrock:eu-west-1:123456789012:inference-profile/global.anthropic.claude-sonnet-4-6';
  expect(grantsOf(['global.anthropic.claude-sonnet-4-6'])).toEqual([
    { actions, resources: [profile] },
    {
      actions,
      resources: [
        'arn:aws:bedrock:eu-west-1::foundation-model/anthropic.claude-sonnet-4-6',
        'arn:aws:bedrock:::foundation-model/anthropic.claude-sonnet-4-6',
      ],
      condition: throughProfile,
    },
  ]);
});

test('an application profile is granted with whatever it stands for, through the profile alone', () => {
  const profile = 'arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123';
  expect(grantsOf([profile])).toEqual([
    { actions, resources: [profile] },
    { actions, resources: ['arn:aws:bedrock:*::foundation-model/*'], condition: throughProfile },
  ]);
});

test('models and profiles share two statements', () => {
  const names = ['eu.amazon.nova-lite-v1:0', 'eu.amazon.nova-pro-v1:0'];
  const [direct, routed, ...others] = grantsOf(['amazon.nova-micro-v1:0', ...names]);
  expect(others).toEqual([]);
  expect({ ...direct, resources: direct?.resources.toSorted() }).toEqual({
    actions,
    resources: [
      'arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.amazon.nova-lite-v1:0',
      'arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.amazon.nova-pro-v1:0',
      'arn:aws:bedrock:eu-west-1::foundation-model/amazon.nova-micro-v1:0',
    ],
  });
  expect(routed).toEqual({
    actions,
    resources: names.map((name) => `arn:aws:bedrock:*::foundation-model/${name.slice(3)}`),
    condition: throughProfile,
  });
});

test('an ARN is granted as it is', () => {
  const provisioned = 'arn:aws:bedrock:us-east-1:123456789012:provisioned-model/abc123';
  const foundation = 'arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-lite-v1:0';
  expect(grantsOf([provisioned])).toEqual([{ actions, resources: [provisioned] }]);
  expect(grantsOf([foundation])).toEqual([{ actions, resources: [foundation] }]);
  const profile = 'arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.amazon.nova-lite-v1:0';
  expect(grantsOf([profile])).toEqual([
    { actions, resources: [profile] },
    {
      actions,
      resources: ['arn:aws:bedrock:*::foundation-model/amazon.nova-lite-v1:0'],
      condition: throughProfile,
    },
  ]);
});

/** The largest number of models that a stage may list, with long names. */
const many = Array.from({ length: 20 }, (_, index) => `eu.anthropic.claude-3-7-sonnet-20250219-v1:${index}`);

test('as many as a stage may list fit into the policies of a role', () => {
  const { statements } = synthesize({ settings: { bedrockModels: many, webFunctions: 'all' } });
  for (const id of ['ProcessBatchItems', 'Chats', 'TestAgent']) {
    const policy = JSON.stringify(filledIn(statements.get(id)));
    expect(policy).toContain('claude-3-7-sonnet-20250219-v1:19');
    expect([id, policy.length]).toEqual([id, expect.toSatisfy((length) => length < 10_240)]);
  }
});

test('only functions that ask models are granted any, and an output tells what agents may name', () => {
  const { statements, template } = synthesize({
    settings: { bedrockModels: ['amazon.nova-lite-v1:0'], webFunctions: 'uploads', bothEntryPoints: true },
  });
  expect(template.toJSON().Outputs.BedrockModels).toEqual({ Value: '["amazon.nova-lite-v1:0"]' });
  const granted = [...statements].filter(([, all]) => JSON.stringify(all).includes('bedrock:'));
  expect(granted.map(([owner]) => owner).toSorted()).toEqual([
    'Chats',
    'CompleteChat',
    'ProcessBatchItems',
    'SendMessage',
    'TestAgent',
  ]);
});

describe('the setting', () => {
  test.each([
    '*',
    'anthropic.*',
    'claude',
    'arn:aws:bedrock:*::foundation-model/a.b',
    'arn:aws:s3:::bucket',
    'a.b c',
    '',
  ])('refuses %j', (model) => {
    expect(() => parseSettings({ bedrockModels: [model] })).toThrow(
      'bedrockModels.0: must be the id of a Bedrock model or inference profile, or an ARN, without wildcards',
    );
  });

  test.each([
    'openai.gpt-oss-120b-1:0',
    'deepseek.v3.2',
    'us.meta.llama3-3-70b-instruct-v1:0',
    'anthropic.claude-3-5-sonnet-20240620-v1:0:18k',
    'arn:aws-us-gov:bedrock:us-gov-west-1:123456789012:inference-profile/us-gov.anthropic.claude-3-haiku-20240307-v1:0',
  ])('takes %s', (model) => {
    expect(parseSettings({ bedrockModels: [model] }).bedrockModels).toEqual([model]);
  });

  test('takes no more than fit', () => {
    expect(() => parseSettings({ bedrockModels: [...many, 'a.b'] })).toThrow('bedrockModels');
  });
});
