import { expect, test } from 'vitest';
import { functionNames } from '#lib/bundles/function-bundles.ts';
import { type Resource, synthesize } from './synthesize.ts';

/** The resources that CloudFormation creates before each resource, because of a reference or a DependsOn. */
function dependenciesOf(resources: Readonly<Record<string, object>>): Map<string, Set<string>> {
  return new Map(
    Object.entries(resources).map(([id, resource]) => {
      // In `Ref`, `Fn::GetAtt` and `DependsOn` an id is a whole text, in `Fn::Sub` it stands in braces.
      const texts = JSON.stringify(resource).matchAll(/"(\w+)"|\$\{(\w+)/g);
      const ids = [...texts].map(([, whole, inText]) => whole ?? inText ?? '');
      return [id, new Set(ids.filter((other) => other !== id && other in resources))];
    }),
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
