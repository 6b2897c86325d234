import { expect, test } from 'vitest';
import { pathsOf } from '#contract/routes/route.ts';
import { type Route, routes } from '#contract/routes.ts';
import { domain, evaluate, type Resource, synthesize } from './synthesize.ts';

/** The template of the settings that make policies and texts largest. */
const { template, statements, resources, resource } = synthesize({
  settings: {
    webFunctions: 'all',
    bothEntryPoints: true,
    firewall: {},
    alarmEmails: ['someone@example.com'],
    webSearch: { provider: 'brave' },
    bedrockModels: Array.from({ length: 20 }, (_, n) => `eu.anthropic.claude-sonnet-4-20250514-v1:${n}`),
    bedrockKnowledgeBases: Array.from({ length: 20 }, (_, n) => `KNOWLEDGE${String.fromCharCode(65 + n)}`),
  },
});
const whole = template.toJSON();
const bytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
const functions = Object.entries(resources('AWS::Lambda::Function'));
/** The longest ARN or URL that AWS puts in place of a Ref or GetAtt, in characters. */
const arnCharacters = 140;

test('CloudFormation: 1 MB, 200 outputs, and a description of 1,024 bytes', () => {
  // With spaces, as the library writes the template.
  expect(Buffer.byteLength(JSON.stringify(whole, undefined, 1))).toBeLessThan(1_000_000);
  expect(Object.keys(whole.Outputs).length).toBeLessThanOrEqual(200);
  expect(bytes(whole.Description)).toBeLessThanOrEqual(1024);
});

/** The longest values of the pseudo parameters. */
const longest: Readonly<Record<string, string>> = {
  'AWS::Partition': 'aws-us-gov',
  'AWS::Region': 'ap-southeast-1',
  'AWS::AccountId': '123456789012',
};

const anArn = (): string => 'x'.repeat(arnCharacters);

test('IAM: the policies of a role have 10,240 characters, and their references written out fit too', () => {
  expect(statements.size).toBeGreaterThan(20);
  for (const [role, all] of statements) {
    const { length } = JSON.stringify(evaluate(template, all, longest, anArn, anArn));
    expect([role, length <= 10_240, length]).toEqual([role, true, length]);
  }
});

test('Lambda: 4 KB of variables, 256 characters of description, 15 minutes, 10,240 MB', () => {
  expect(functions.length).toBeGreaterThan(20);
  for (const [id, { Properties }] of functions) {
    const variables: Record<string, unknown> = Properties.Environment?.Variables ?? {};
    const room = Object.entries(variables).reduce(
      (sum, [name, value]) =>
        sum + name.length + (typeof value === 'string' ? Buffer.byteLength(value) : arnCharacters),
      0,
    );
    expect([id, room <= 4096, room]).toEqual([id, true, room]);
    expect(String(Properties.Description ?? '').length).toBeLessThanOrEqual(256);
    expect(Number(Properties.Timeout ?? 3)).toBeLessThanOrEqual(900);
    expect(Number(Properties.MemorySize ?? 128)).toBeLessThanOrEqual(10_240);
  }
});

test('SQS and Lambda: a queue hides its messages for six times as long as their function may run', () => {
  const mappings = Object.values(resources('AWS::Lambda::EventSourceMapping'));
  expect(mappings).toHaveLength(2);
  for (const { Properties } of mappings) {
    const name = JSON.stringify(Properties.FunctionName);
    const [, handler] = functions.find(([id]) => name.includes(id.slice(0, -8))) ?? [];
    const [queueId] = Properties.EventSourceArn['Fn::GetAtt'];
    const { VisibilityTimeout } = resource('AWS::SQS::Queue', queueId).Properties;
    expect(Number(VisibilityTimeout)).toBeGreaterThanOrEqual(6 * Number(handler?.Properties.Timeout));
    expect(Number(VisibilityTimeout)).toBeLessThanOrEqual(43_200);
    const { MaximumConcurrency = 2 } = Properties.ScalingConfig ?? {};
    expect(MaximumConcurrency).toBeGreaterThanOrEqual(2);
    expect(MaximumConcurrency).toBeLessThanOrEqual(1000);
  }
});

test('API Gateway: 300 resources, 29 s buffered and 15 minutes streamed, and functions that end before', () => {
  expect(Object.keys(resources('AWS::ApiGateway::Resource')).length).toBeLessThanOrEqual(300);
  expect(Object.keys(resources('AWS::ApiGateway::Method'))).toHaveLength(
    Object.values<Route>(routes).flatMap(pathsOf).length,
  );
  const integrated: unknown[] = [];
  for (const { Properties } of Object.values(resources('AWS::ApiGateway::Method'))) {
    const { ResponseTransferMode, TimeoutInMillis = 29_000, Uri } = Properties.Integration;
    // Web functions: web-function-routes.test.ts.
    const called = functions.filter(([id]) => JSON.stringify(Uri).includes(`"${id.slice(0, -8)}Live`));
    for (const [id, handler] of called)
      expect([id, TimeoutInMillis / 1000 >= Number(handler.Properties.Timeout)]).toEqual([id, true]);
    integrated.push(...called);
    expect(TimeoutInMillis).toBeGreaterThanOrEqual(50);
    expect(TimeoutInMillis).toBeLessThanOrEqual(ResponseTransferMode === 'STREAM' ? 900_000 : 29_000);
  }
  expect(integrated.length).toBeGreaterThan(15);
});

test('CloudWatch: ten metrics an alarm, 500 widgets and 1,024 characters of description', () => {
  for (const { Properties } of Object.values(resources('AWS::CloudWatch::Alarm'))) {
    const queries: { Expression?: string }[] = Properties.Metrics ?? [];
    // Ten metrics, and ten expressions.
    const expressions = queries.filter(({ Expression }) => Expression !== undefined);
    expect(queries.length - expressions.length).toBeLessThanOrEqual(10);
    expect(expressions.length).toBeLessThanOrEqual(10);
    expect(String(Properties.AlarmDescription).length).toBeLessThanOrEqual(1024);
  }
});

test('no resource has a name of its own that would stand in the way of its successor', () => {
  const names = Object.entries<Partial<Resource>>(whole.Resources).flatMap(
    ([id, { Type = '', Properties = {} }]) =>
      Object.entries(Properties)
        .filter(([property]) => isNameOf(Type, property))
        .map(() => `${Type} ${id.replace(/[0-9A-F]{8}$/, '')}`),
  );
  expect(names.toSorted()).toEqual([
    // Aliases and gateway responses are missing here: their names need only be unique in their function or API.
    // GatewayExecutionLogs has the API's id in its name, as the group that API Gateway itself would create.
    'AWS::CloudFront::Function FrontTellViewerHost',
    // Its name contains a part of the stack's id.
    'AWS::Logs::LogGroup BatchWorkflowLogs',
    'AWS::Logs::LogGroup GatewayExecutionLogs',
  ]);
});

/** The property by which CloudFormation would name a resource of this type for the account or the Region. */
const isNameOf = (type: string, property: string): boolean =>
  !/^AWS::(ApiGateway|CloudFront::Response|IAM::Policy|Lambda::(Alias|WebFunction))/.test(type) &&
  property.endsWith('Name') &&
  type.endsWith(property.slice(0, -4));

/** What settings can add. Only buckets of other stages than production are emptied by a function. */
const largest = {
  webFunctions: 'all',
  bothEntryPoints: true,
  production: false,
  rollout: 'Canary10Percent5Minutes',
  domain,
  firewall: {},
  originSecretGeneration: 2,
  corsOrigins: ['https://app.example.com'],
  alarmEmails: Array.from({ length: 10 }, (_, n) => `person-${n}@example.com`),
  webSearch: { provider: 'brave' },
  openAiEndpoints: Object.fromEntries(
    [...'abcdefghij'].map((name) => [name, { url: 'https://models.example.com/v1' }]),
  ),
};

test('the largest form that the settings allow has at most 430 resources, of 500', () => {
  const { length } = Object.keys(synthesize({ settings: largest }).template.toJSON().Resources);
  console.log(`Resources of the largest form: ${length}`);
  expect(length).toBeLessThanOrEqual(430);
});
