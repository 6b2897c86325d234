import { describe, expect, test } from 'vitest';
import { routes } from '#contract/routes.ts';
import { variables } from '#runtime/variables.ts';
import { synthesize } from './synthesize.ts';

const { resources, resource } = synthesize();
const functions = Object.entries(resources('AWS::Lambda::Function'));

test('there is a function for each route, and the authorizer', () => {
  expect(functions).toHaveLength(Object.keys(routes).length + 1);
});

describe.each(functions)('%s', (_id, { Properties }) => {
  test('runs Node 24 on Graviton', () => {
    expect(Properties).toMatchObject({
      Runtime: 'nodejs24.x',
      Architectures: ['arm64'],
      Handler: 'index.handler',
      MemorySize: 1024,
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
  expect(groups).toHaveLength(functions.length + 2);
  for (const group of groups) expect(group.Properties).toMatchObject({ RetentionInDays: 30 });
});

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
    120, // CloudFront's read time-out
    Number(resource('AWS::Lambda::Function', 'SendMessage').Properties.Timeout),
  ];
  expect(order).toEqual([30, 90, 110, 120, 300]);
  expect(order).toEqual(order.toSorted((a, b) => a - b));
});

test('the settings of a stage reach the function that asks models', () => {
  const settings = {
    streamTimeoutSeconds: 2,
    openAiBaseUrl: 'http://models.example:8080/v1',
    historyCharacters: 5000,
  };
  expect(variablesOf('SendMessage', { settings: JSON.stringify(settings) })).toMatchObject({
    [variables.streamTimeoutSeconds]: '2',
    [variables.openAiBaseUrl]: 'http://models.example:8080/v1',
    [variables.historyCharacters]: '5000',
    [variables.openAiApiKeySecret]: { Ref: 'OpenAiApiKey' },
  });
});

test('no function is given a secret as a plain value', () => {
  for (const [, { Properties }] of functions)
    expect(JSON.stringify(Properties.Environment)).not.toMatch(/resolve:secretsmanager|SecretString/);
});
