import validate from 'asl-validator';
import { expect, test } from 'vitest';
import { evaluate, synthesize } from './synthesize.ts';
import { workflowDefinition } from './workflow-definition.ts';

const { template, resources, resource } = synthesize();
const timeoutOf = (id: string): number => {
  const { Timeout } = resource('AWS::Lambda::Function', id).Properties;
  return Number(Timeout);
};

test('the definition is one that Step Functions takes', () => {
  const { isValid, errorsText } = validate(workflowDefinition());
  expect([isValid, isValid ? '' : errorsText('\n')]).toEqual([true, '']);
});

test('its log group is one that needs no entry in the resource policy of the Region, and another in each stack', () => {
  const nameIn = (stackId: string) => {
    const { LogGroupName } = resource('AWS::Logs::LogGroup', 'BatchWorkflowLogs').Properties;
    return evaluate(template, LogGroupName, { 'AWS::StackId': stackId });
  };
  const stack = 'arn:aws:cloudformation:eu-west-1:123456789012:stack/agent-service-production';
  expect(nameIn(`${stack}/1a2b3c4d-0000-11ef-9a2b-0a1b2c3d4e5f`)).toBe(
    '/aws/vendedlogs/states/agent-service-production-1a2b3c4d',
  );
  expect(nameIn(`${stack}/5e6f7a8b-0000-11ef-9a2b-0a1b2c3d4e5f`)).toBe(
    '/aws/vendedlogs/states/agent-service-production-5e6f7a8b',
  );
});

test('the reconciler runs every minute, and a run that comes too late is dropped', () => {
  const ofReconciler = (type: string, name: string) =>
    Object.entries(resources(type))
      .filter(([id]) => id.startsWith(name))
      .map(([, { Properties }]) => Properties);
  const [rule] = ofReconciler('AWS::Events::Rule', 'Batches');
  expect(rule).toMatchObject({
    ScheduleExpression: 'rate(1 minute)',
    Targets: [{ RetryPolicy: { MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60 } }],
  });
  expect(ofReconciler('AWS::Lambda::EventInvokeConfig', 'ReconcileBatches')).toEqual([
    expect.objectContaining({ MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60 }),
  ]);
  expect(timeoutOf('ReconcileBatches')).toBeLessThanOrEqual(60);
});

test('every wait ends by itself, looks again, and fails the batch only when it goes on failing', () => {
  const waits = Object.entries(workflowDefinition().States).filter(
    ([, { TimeoutSeconds }]) => TimeoutSeconds,
  );
  expect(waits.map(([name, { TimeoutSeconds }]) => [name, TimeoutSeconds])).toEqual([
    ['Offer slots to workers and wait for the last request', 86_400],
    ['Wait for the requests that are left', 86_400],
    ['Wait for the requests in work', 40],
  ]);
  for (const [, { Catch, Next }] of waits) {
    expect(Catch?.map(({ ErrorEquals, Next: next }) => [ErrorEquals, next])).toEqual([
      [['States.Timeout'], 'See what has become of the batch'],
      [
        expect.arrayContaining(['ServiceUnavailable', 'Lambda.ServiceException']),
        'Leave the batch to the reconciler',
      ],
      [['States.ALL'], 'Fail what is left of the batch'],
    ]);
    expect(Next).toBe('See what has become of the batch');
  }
  const shorter = workflowDefinition({
    settings: JSON.stringify({ webFunctions: 'none', batchTimeoutSeconds: 60 }),
  });
  expect(shorter.States['Wait for the requests that are left']?.TimeoutSeconds).toBe(60);
});

/** The ids that a value refers to, by any kind of reference. */
function dependenciesOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value)) return value.flatMap(dependenciesOf);
  return Object.entries(value).flatMap(([name, inner]) => {
    if (name === 'Ref') return [String(inner)];
    if (name === 'Fn::GetAtt') return [String(Array.isArray(inner) ? inner[0] : String(inner).split('.')[0])];
    if (name === 'Fn::Sub') {
      const text = Array.isArray(inner) ? String(inner[0]) : String(inner);
      return [...text.matchAll(/\$\{([^.}!]+)/g)].map(([, id]) => id ?? '').concat(dependenciesOf(inner));
    }
    if (name === 'DependsOn') return [inner].flat().map(String);
    return dependenciesOf(inner);
  });
}

test('no resource needs itself, by whatever way: CloudFormation would not deploy it', () => {
  const all = template.toJSON().Resources as Record<string, unknown>;
  const needs = new Map(
    Object.entries(all).map(([id, value]) => [id, dependenciesOf(value).filter((other) => other in all)]),
  );
  const done = new Set<string>();
  const visit = (id: string, path: readonly string[]): void => {
    if (path.includes(id)) throw new Error([...path.slice(path.indexOf(id)), id].join(' needs '));
    if (done.has(id)) return;
    for (const other of needs.get(id) ?? []) visit(other, [...path, id]);
    done.add(id);
  };
  for (const id of needs.keys()) visit(id, []);
  expect(done.size).toBeGreaterThan(50);
});
