import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Template } from 'aws-cdk-lib/assertions';
import { Stack } from 'aws-cdk-lib/core';
import { expect, inject, test } from 'vitest';
import { functionNames } from '#lib/bundles/function-bundles.ts';
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

/** The template with all functions. */
const { template } = synthesize({ settings: { webFunctions: 'all', bothEntryPoints: true } });
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

const longestArnOf = (id: string): string =>
  `arn:aws-us-gov:lambda:ap-southeast-1:123456789012:function:${id.padEnd(64, 'x')}`;

/** A value with all references resolved; those to functions are as long as the longest ARN. */
const written = (template: Template, value: unknown): unknown =>
  evaluate(template, value, inAws, longestArnOf);

test('the policy of the role that moves aliases fits, with every function and the longest names', () => {
  const template = rolloutWith(functionNames.length, 'agent-service-production');
  // IAM does not count white space.
  const { length } = JSON.stringify(
    written(template, { Statement: statementsByRole(template).get('Rollout') }),
  );
  console.log(`The role that moves ${functionNames.length} aliases has a policy of ${length} characters`);
  expect(length).toBeGreaterThan(functionNames.length * 64);
  expect(length).toBeLessThan(10_240);
});

test('it may move the aliases of exactly the functions of its stack', () => {
  const aliases = Object.values(Resources).filter(({ Type }) => Type === 'AWS::Lambda::Alias');
  expect(aliases.length).toBeGreaterThan(20);
  const arns = aliases.map(({ Properties }) =>
    longestArnOf((Properties.FunctionName as { Ref: string }).Ref),
  );
  const [moves, ...others] = (statementsByRole(template).get('Rollout') ?? []).filter(({ Action }) =>
    [Action].flat().includes('lambda:UpdateAlias'),
  );
  expect(others).toEqual([]);
  const named = [written(template, moves?.Resource)].flat().map(String);
  expect(named.toSorted()).toEqual(arns.flatMap((arn) => [arn, `${arn}:live`]).toSorted());
});
