import { expect, test } from 'vitest';
import { functionNames } from '#lib/bundles/function-bundles.ts';
import { type Statement, synthesize } from './synthesize.ts';

const { resources, statements: byRole } = synthesize();
const list = <Value>(value: Value | Value[]): Value[] => (Array.isArray(value) ? value : [value]);

/** The permission that X-Ray tracing needs: X-Ray has no ARNs to restrict it to. */
const isTracing = ({ Action, Resource }: Statement): boolean =>
  Resource === '*' && list(Action).toSorted().join() === 'xray:PutTelemetryRecords,xray:PutTraceSegments';

const policies = [...byRole]
  // The library's role that writes the gateway's logs has a managed policy alone.
  .filter(([, all]) => all.length > 0)
  .map(([owner, all]) => ({
    owner,
    statements: all.filter((statement) => !isTracing(statement)),
    tracing: all.filter(isTracing),
  }));

test('every write names the items that it may write', () => {
  const writes = policies.flatMap(({ statements }) =>
    statements.filter(({ Action }) =>
      list(Action).some((action) => /:(Put|Update|Delete|BatchWrite)Item$/.test(action)),
    ),
  );
  expect(writes.length).toBeGreaterThan(functionNames.length);
  for (const { Condition } of writes)
    expect(Condition).toMatchObject({
      'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': expect.anything() },
    });
});

test('no role is given a wildcard action', () => {
  const actions = policies.flatMap(({ statements }) => statements.flatMap(({ Action }) => list(Action)));
  expect(actions.length).toBeGreaterThan(0);
  expect(actions.filter((action) => action.includes('*'))).toEqual([]);
});

test('wildcard resources are object keys, executions, and what has no others', () => {
  const join = (...parts: unknown[]) => JSON.stringify({ 'Fn::Join': ['', parts] });
  const idOf = (name: string, type: string): string =>
    Object.keys(resources(type)).find((id) => id.startsWith(name)) ?? name;
  const objectKeys = ['ContentBucket', 'FileBucket'].map((bucket) =>
    join({ 'Fn::GetAtt': [bucket, 'Arn'] }, '/*'),
  );
  const executions = join(
    'arn:',
    { Ref: 'AWS::Partition' },
    ':states:',
    { Ref: 'AWS::Region' },
    ':',
    { Ref: 'AWS::AccountId' },
    ':execution:',
    { 'Fn::GetAtt': [idOf('Batches', 'AWS::StepFunctions::StateMachine'), 'Name'] },
    ':*',
  );
  const wildcards = policies.flatMap(({ owner, statements }) =>
    statements
      .flatMap(({ Resource }) => list(Resource))
      .map((resource) => ({ owner, resource: JSON.stringify(resource) }))
      .filter(({ resource }) => resource.includes('*')),
  );
  const everything = wildcards.filter(({ resource }) => resource === '"*"');
  // Log delivery and X-Ray need it, and CodeDeploy to describe alarms.
  expect(new Set(everything.map(({ owner }) => owner))).toEqual(new Set(['BatchesMachine', 'Rollout']));
  expect(new Set(wildcards.map(({ resource }) => resource))).toEqual(
    new Set([...objectKeys, executions, '"*"']),
  );
});

test('each function has a role of its own, with no policy of AWS', () => {
  const roles = resources('AWS::IAM::Role');
  const used = Object.values(resources('AWS::Lambda::Function')).map(
    ({ Properties }) => (Properties.Role as { 'Fn::GetAtt': [string, string] })['Fn::GetAtt'][0],
  );
  expect(new Set(used).size).toBe(used.length);
  for (const id of used) expect(roles[id]?.Properties).not.toHaveProperty('ManagedPolicyArns');
});
