import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Template } from 'aws-cdk-lib/assertions';
import { Stack } from 'aws-cdk-lib/core';
import { expect, inject, test } from 'vitest';
import { functionNames } from '#lib/function-table.ts';
import { Rollout } from '#lib/rollout.ts';
import { ServiceFunction } from '#lib/service-function.ts';
import { parseSettings } from '#lib/settings.ts';
import { createApp, evaluate, type Resource, statementsByRole, synthesize } from './synthesize.ts';

/** The resources that CloudFormation creates before each resource, because of a reference or a DependsOn. */
function dependenciesOf(resources: Readonly<Record<string, object>>): Map<string, Set<string>> {
  const referred = (value: unknown): string[] => {
    if (typeof value !== 'object' || value === null) return [];
    return Object.entries(value).flatMap(([name, inner]: [string, unknown]) => {
      if (name === 'Ref') return [String(inner)];
      if (name === 'DependsOn') return [inner].flat().map(String);
      if (name === 'Fn::GetAtt') return [String([inner].flat()[0]).split('.')[0] ?? ''];
      if (name === 'Fn::Sub') {
        const [text, variables] = [inner].flat();
        return [
          ...[...String(text).matchAll(/\$\{([^!.}]+)/g)].map(([, id = '']) => id),
          ...referred(variables),
        ];
      }
      return referred(inner);
    });
  };
  return new Map(
    Object.entries(resources).map(([id, resource]) => [
      id,
      new Set(referred(resource).filter((other) => other !== id && other in resources)),
    ]),
  );
}

function everythingBefore(id: string, dependencies: ReadonlyMap<string, ReadonlySet<string>>): Set<string> {
  const found = new Set<string>();
  const visit = (next: string): void => {
    for (const other of dependencies.get(next) ?? [])
      if (!found.has(other)) {
        found.add(other);
        visit(other);
      }
  };
  visit(id);
  return found;
}

/** The template of the settings that make it largest. */
const { template } = synthesize({
  settings: { webFunctions: 'all', bothEntryPoints: true, firewall: {}, webSearch: { provider: 'brave' } },
});
const { Resources } = template.toJSON() as { Resources: Record<string, Resource> };
const dependencies = dependenciesOf(Resources);
const isAlias = (id: string): boolean => Resources[id]?.Type === 'AWS::Lambda::Alias';

test('all aliases roll out in one wave: none waits for another', () => {
  const aliases = Object.keys(Resources).filter(isAlias);
  expect(aliases).toHaveLength(functionNames.length);
  for (const alias of aliases) {
    const before = everythingBefore(alias, dependencies);
    // Dependencies are transitive: through its version, an alias waits for its function and for the function's
    // dependencies.
    expect([...before].map((id) => Resources[id]?.Type)).toEqual(
      expect.arrayContaining(['AWS::CodeDeploy::DeploymentGroup', 'AWS::IAM::Role', 'AWS::Lambda::Function']),
    );
    expect([alias, [...before].filter(isAlias)]).toEqual([alias, []]);
  }
});

test('what needs an alias when it is made waits for it: permissions, queues, the schedule, and the methods', () => {
  const needy = Object.entries(Resources).filter(([, { Type }]) =>
    [
      'AWS::ApiGateway::Authorizer',
      'AWS::ApiGateway::Method',
      'AWS::Events::Rule',
      'AWS::Lambda::EventSourceMapping',
      'AWS::Lambda::Permission',
    ].includes(Type),
  );
  expect(needy.length).toBeGreaterThan(25);
  for (const [id] of needy)
    expect([id, [...everythingBefore(id, dependencies)].some(isAlias)]).toEqual([id, true]);
});

const rolloutWith = (count: number, stackName: string): Template => {
  const stack = new Stack(createApp(), 'Service', { stackName });
  const rollout = new Rollout(stack, 'Rollout', 'Canary10Percent5Minutes');
  const codeFolder = mkdtempSync(join(inject('synthFolder'), 'code-'));
  writeFileSync(join(codeFolder, 'index.mjs'), 'export const handler = () => undefined;\n');
  const settings = parseSettings({});
  for (let n = 0; n < count; n += 1)
    rollout.of(
      new ServiceFunction(stack, `Function${n}`, {
        description: '',
        codeFolder,
        timeoutSeconds: 1,
        settings,
      }),
      [],
    );
  return Template.fromStack(stack);
};

const inAws = {
  'AWS::Partition': 'aws-us-gov',
  'AWS::Region': 'ap-southeast-1',
  'AWS::AccountId': '123456789012',
};

test('the policies of the role that moves aliases take less than half of their room with 60 functions', () => {
  const template = rolloutWith(60, 'agent-service-production');
  const groups = Object.values(template.findResources('AWS::CodeDeploy::DeploymentGroup'));
  expect(groups).toHaveLength(60);
  const [role] = new Set(groups.map(({ Properties }) => Properties.ServiceRoleArn['Fn::GetAtt'][0]));
  expect(role).toMatch(/^RolloutRole/);
  const documents = [statementsByRole(template).get('Rollout')];
  // IAM does not count white space.
  const characters = documents.map((document) => JSON.stringify(written(template, document)).length);
  expect(characters.reduce((sum, size) => sum + size, 0)).toBeLessThan(10_240 / 2);
});

/** A value with all references resolved; those to functions are as long as the longest ARN. */
const written = (template: Template, value: unknown): unknown =>
  evaluate(
    template,
    JSON.parse(
      JSON.stringify(value).replaceAll(
        /\{"Fn::GetAtt":\["(\w+)","Arn"\]\}/g,
        (_match, id: string) =>
          `"arn:aws-us-gov:lambda:ap-southeast-1:123456789012:function:${id.padEnd(64, 'x')}"`,
      ),
    ),
    inAws,
  );

test.each([
  ['agent-service-production', 'agent-service-production-SendMessage33FB0275-0A1B2C3D4E5F'],
  ['agent-service-production', 'agent-service-production-ListPublishedAgents0A1B2C3-0A1B2C3D4E5F'],
  ['agent-service-of-a-long-name', 'agent-service-of-a-long-name-GetBatch0A1B2C3D-0A1B2C3D4E5F'],
  ['agent-service-of-a-long-name', 'agent-service-of-a-long-n-ListPublishedAgents0A1B2C-0A1B2C3D4E5F'],
])('of the stack %s it may move the alias of %s', (stackName, functionName) => {
  expect(functionName.length).toBeLessThanOrEqual(64);
  const template = rolloutWith(1, stackName);
  const resources = (statementsByRole(template).get('Rollout') ?? [])
    .filter(({ Action }) => [Action].flat().includes('lambda:UpdateAlias'))
    .map(({ Resource }) => String(written(template, Resource)));
  const [resource = '', ...others] = resources;
  expect(others).toEqual([]);
  const pattern = new RegExp(`^${resource.replace('*', '.*')}$`);
  const arnOf = (name: string) => `arn:aws-us-gov:lambda:ap-southeast-1:123456789012:function:${name}`;
  expect(arnOf(functionName)).toMatch(pattern);
  expect(arnOf(`${functionName}:live`)).toMatch(pattern);
  expect(arnOf('agent-service-staging-SendMessage33FB0275-0A1B2C3D4E5F:live')).not.toMatch(pattern);
});
