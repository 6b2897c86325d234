import { describe, expect, test } from 'vitest';
import { routes } from '#contract/routes.ts';
import { variables } from '#runtime/environment/variables.ts';
import { synthesize } from './synthesize.ts';

const { resources, resource, statements } = synthesize();
const functions = Object.entries(resources('AWS::Lambda::Function')).map(
  ([id, value]) => [id.replace(/[0-9A-F]{8}$/, ''), value] as const,
);
/** Functions that the gateway, queues, the state machine, schedules and other functions call. */
const withoutRoute = [
  'authorize-request',
  'process-batch-items',
  'dispatch-batch',
  'advance-batch',
  'fail-batch',
  'deliver-webhook',
  'reconcile-batches',
  'delete-unused-chats',
  'prepare-attachment',
  'purge-chat',
  'test-agent',
];

test('there is a function for each route, and for what stands behind none', () => {
  const names = Object.keys(routes).concat(withoutRoute).map(pascalCase);
  expect(functions.map(([id]) => id).toSorted()).toEqual(names.toSorted());
});

const pascalCase = (name: string): string =>
  name.replaceAll(/(?:^|-)([a-z])/g, (_match, letter: string) => letter.toUpperCase());

test('what only a local run may do is not in production', () => {
  expect(JSON.stringify(functions)).not.toContain(variables.showProviderErrors);
  expect(JSON.stringify(functions)).not.toContain(variables.webhookPlainLoopback);
});

describe.each(functions)('%s', (id, { Properties }) => {
  test('runs Node 24 on Graviton', () => {
    expect(Properties).toMatchObject({
      Runtime: 'nodejs24.x',
      Architectures: ['arm64'],
      Handler: 'index.handler',
      // PrepareAttachment scales images in memory.
      MemorySize: id === 'PrepareAttachment' ? 2048 : 1024,
    });
  });

  test('logs JSON into a group of its own that forgets after a month', () => {
    const logging = Properties.LoggingConfig as { LogFormat: string; LogGroup: { Ref: string } };
    expect(logging.LogFormat).toBe('JSON');
    expect(resources('AWS::Logs::LogGroup')[logging.LogGroup.Ref]?.Properties).toMatchObject({
      RetentionInDays: 30,
    });
    const sharing = functions.filter(
      ([, other]) => JSON.stringify(other.Properties.LoggingConfig) === JSON.stringify(logging),
    );
    expect(sharing).toHaveLength(1);
  });
});

test('every log group forgets', () => {
  const groups = Object.values(resources('AWS::Logs::LogGroup'));
  // Two log groups of the gateway and one of the state machine.
  expect(groups).toHaveLength(functions.length + 3);
  for (const group of groups) expect(group.Properties).toMatchObject({ RetentionInDays: 30 });
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

const variablesOf = (id: string, context = {}) => {
  const { Variables } = synthesize(context).resource('AWS::Lambda::Function', id).Properties.Environment as {
    Variables: Record<string, string>;
  };
  return Variables;
};

test('time-outs of a reply stand in order: lease, stall, plain reply, function', () => {
  const given = variablesOf('SendMessage');
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

test('the settings of a stage reach the function that asks models', () => {
  const settings = {
    streamTimeoutSeconds: 2,
    openAiBaseUrl: 'http://models.example:8080/v1',
    webFunctions: 'none',
    logLevel: 'WARN',
  };
  expect(variablesOf('SendMessage', { settings: JSON.stringify(settings) })).toMatchObject({
    [variables.streamTimeoutSeconds]: '2',
    [variables.openAiBaseUrl]: 'http://models.example:8080/v1',
    [variables.logLevel]: 'WARN',
    [variables.openAiApiKeySecret]: { Ref: 'OpenAiApiKey' },
  });
});

test('no function is given a secret as a plain value', () => {
  for (const [, { Properties }] of functions)
    expect(JSON.stringify(Properties.Environment)).not.toMatch(/resolve:secretsmanager|SecretString/);
});
