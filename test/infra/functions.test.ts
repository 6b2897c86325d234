import { expect, test } from 'vitest';
import { variables } from '#runtime/environment/variables.ts';
import { type Statement, synthesize } from './synthesize.ts';

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

test('whoever calls a function calls its alias: the gateway, queues, the workflow, the schedule, other functions', () => {
  const aliases = Object.entries(resources('AWS::Lambda::Alias'));
  expect(aliases).toHaveLength(functions.length);
  for (const [id, { Properties }] of aliases) {
    expect(Properties.Name).toBe('live');
    expect(JSON.stringify(Properties.FunctionVersion)).toContain('CurrentVersion');
    expect(id).toContain(String((Properties.FunctionName as { Ref: string }).Ref).slice(0, -8));
  }
  const callers = [
    'AWS::ApiGateway::Authorizer',
    'AWS::ApiGateway::Method',
    'AWS::Events::Rule',
    'AWS::Lambda::EventSourceMapping',
    'AWS::Lambda::Function',
    'AWS::Lambda::Permission',
    'AWS::StepFunctions::StateMachine',
  ];
  const ids = Object.keys(resources('AWS::Lambda::Function'));
  for (const type of callers)
    for (const [id, { Properties }] of Object.entries(resources(type)))
      expect([id, referredIn(Properties).filter((other) => ids.includes(other))]).toEqual([id, []]);
  const { DefinitionString } = resource('AWS::StepFunctions::StateMachine').Properties;
  expect(new Set(aliasesNamedIn(DefinitionString)).size).toBe(4);
  const invocations = [...statements.values()]
    .flat()
    .filter(({ Action }) => Action === 'lambda:InvokeFunction');
  expect(invocations.length).toBeGreaterThan(3);
  for (const { Resource } of invocations) {
    expect(aliasesNamedIn(Resource).length).toBeGreaterThan(0);
    expect(referredIn(Resource)).toEqual([]);
  }
});

const aliasByName = /\{"Fn::GetAtt":\["(\w+)","Arn"\]\},":live/g;

/** Logical ids of functions whose alias a value names through the function's ARN. */
const aliasesNamedIn = (value: unknown): string[] =>
  [...JSON.stringify(value).matchAll(aliasByName)].map(([, id = '']) => id);

/** Logical ids of all other references. */
const referredIn = (value: unknown): string[] =>
  [
    ...JSON.stringify(value)
      .replaceAll(aliasByName, '"')
      .matchAll(/"(?:Ref":|Fn::GetAtt":\[)"([\w:]+)"/g),
  ].map(([, id = '']) => id);

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

test('without functions as tools the template is the same; with tools, outputs and functions tell what agents may call', () => {
  const templateOf = (settings = {}) => synthesize({ settings }).template.toJSON();
  expect(templateOf({ toolFunctions: [] })).toEqual(templateOf());
  expect(templateOf().Outputs).not.toHaveProperty('ToolFunctions');
  const toolFunctions = ['orders:live', 'refunds:7'].map(
    (name) => `arn:aws:lambda:eu-central-1:123456789012:function:${name}`,
  );
  const { Outputs, Resources } = templateOf({ toolFunctions, toolAllow: ['crm.internal:443'] });
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
