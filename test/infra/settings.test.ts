import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { operatorWarnings, parseSettings } from '#lib/settings.ts';
import { readStage } from '#lib/stage.ts';
import { allowsPlainLoopback } from '#lib/webhooks.ts';
import { createApp, domain } from './synthesize.ts';

const stageOf = (context: Record<string, unknown>) => readStage(createApp(context).node);

test('a stage that nobody names is production, whose data is kept', () => {
  expect(stageOf({})).toMatchObject({ name: 'production', settings: { production: true } });
});

test('staging is production, but that its data goes with its stack and that it fits beside production', () => {
  const { settings } = stageOf({ stage: 'staging' });
  expect(settings).toEqual({
    ...stageOf({}).settings,
    production: false,
    reservedConcurrency: false,
  });
  expect(settings.rollout).toBe('Canary10Percent5Minutes');
});

test('an unknown stage is refused with the names of the known ones', () => {
  expect(() => stageOf({ stage: 'nowhere' })).toThrow(
    'Unknown stage nowhere; the stages of cdk.json are production, staging, development, local',
  );
  expect(() => stageOf({ stage: 'constructor' })).toThrow('Unknown stage constructor');
});

test('a stage has a name of which names of resources can be made', () => {
  const named = (stage: string) => stageOf({ stage, stages: { [stage]: {} } });
  const longest = 'a-stage-of-23-characters';
  expect(named(longest.slice(0, 23)).name).toHaveLength(23);
  for (const stage of [longest, 'under_score', '-first', 'a b'])
    expect(() => named(stage)).toThrow(
      `Stage ${stage}: a name has 1 to 23 letters, digits and hyphens, and begins with a letter or digit`,
    );
});

test('single settings are overridden as JSON text, as the command line gives them, or as an object', () => {
  expect(stageOf({ settings: '{"streamTimeoutSeconds": 2}' }).settings.streamTimeoutSeconds).toBe(2);
  expect(stageOf({ settings: { streamTimeoutSeconds: 3 } }).settings.streamTimeoutSeconds).toBe(3);
});

test('overrides that are no JSON object are refused', () => {
  for (const settings of ['{streamTimeoutSeconds', '[]', '5', true])
    expect(() => stageOf({ settings })).toThrow('-c settings takes a JSON object');
});

/** The lines of the error. */
function problemsOf(settings: Record<string, unknown>): string[] {
  try {
    parseSettings(settings);
  } catch (error) {
    return (error as Error).message.split('\n');
  }
  return [];
}

test('all wrong settings are named at once, with what is allowed, the value, and the nearest known name', () => {
  const problems = problemsOf({
    batchWorker: 30,
    nope: 1,
    streamTimeoutSeconds: 300,
    webEnvironments: 'x'.repeat(100),
    webFunctions: 'some',
    rateLimits: { send: '1/s' },
    domain: { name: 'agents.example.com' },
    alarmEmails: ['ops@example.com', 'ops'],
  });
  expect(problems).toEqual([
    'Settings: batchWorker: no such setting; did you mean batchWorkers?',
    'Settings: nope: no such setting; docs/settings.md has all',
    'Settings: webFunctions: expected all, uploads, none; it is "some"',
    'Settings: domain.certificateArn: missing; expected ARN',
    'Settings: rateLimits.send: no such setting; did you mean sends?',
    `Settings: webEnvironments: expected whole number, 2 to 10,000; it is "${'x'.repeat(79)}…`,
    'Settings: alarmEmails.1: expected list of emails, at most 10 items; it is "ops"',
  ]);
});

test('rules between settings are checked also if a name is unknown', () => {
  expect(problemsOf({ nope: 1, streamTimeoutSeconds: 300 })).toEqual([
    'Settings: nope: no such setting; docs/settings.md has all',
    'Settings: streamTimeoutSeconds: must be less than the 300 s that a reply may take; it is 300',
  ]);
});

test('stages that are no objects are refused with their names', () => {
  expect(() => stageOf({ stages: { one: 1, two: {} } })).toThrow(
    'Settings: in the context of cdk.json, stages.one must be a JSON object',
  );
});

const origins = ['https://app.example.com', 'http://localhost:5173'];
const functionArn = (name: string) => `arn:aws:lambda:eu-central-1:123456789012:function:${name}`;

/** A case for each value of a setting. */
const casesOf = <Problem extends string[]>(name: string, values: readonly unknown[], ...problem: Problem) =>
  values.map((value) => [{ [name]: value }, ...problem] as const);

/** A case for each value, as the only one of a setting that is a list. */
const casesOfLists = (name: string, values: readonly string[], problem: string) =>
  casesOf(
    name,
    values.map((value) => [value]),
    `Settings: ${name}.0: ${problem}`,
  );

test.each<readonly [Record<string, unknown>, string]>([
  ...casesOf('webRequestsPerSecond', [-100, 1, 99, 150, 1001, 1100, 2500, 10_001, 11_000, 0.5], 'Second: '),
  ...casesOf(
    'openAiBaseUrl',
    ['ftp://models.example', 'https:/models.example', ' https://models.example'],
    'openAiBaseUrl',
  ),
  ...casesOfLists(
    'bedrockModels',
    [
      '*',
      'anthropic.*',
      'claude',
      'arn:aws:bedrock:*::foundation-model/a.b',
      'arn:aws:s3:::bucket',
      'a.b c',
      '',
    ],
    'must be the id of a Bedrock model or inference profile, or an ARN, without wildcards',
  ),
  ...casesOfLists(
    'bedrockKnowledgeBases',
    ['*', 'abcde12345', 'ABCDE1234', 'arn:aws:bedrock:eu-west-1:1:knowledge-base/ABCDE12345'],
    'must be an id: ten capital letters and digits',
  ),
  ...casesOfLists(
    'toolFunctions',
    [
      ...[
        '*',
        'orders',
        `${functionArn('orders:live')}\n`,
        functionArn('orders:live').replace('lambda', 'sqs'),
      ],
      ...['orders', 'orders:*', '*:live', 'orders:$LATEST', 'orders:live:more'].map(functionArn),
    ],
    'must be the ARN of a Lambda function with an alias, without wildcards',
  ),
  ...casesOfLists(
    'corsOrigins',
    [
      'https://app.example.com/',
      'https://app.example.com/chat',
      'https://App.example.com',
      'https://app.example.com:443',
      'https://*.example.com',
      "https://it's.example.com",
      'https://me@app.example.com',
      'app.example.com',
      'ftp://app.example.com',
      'null',
      '',
    ],
    'must be * or an origin as browsers send it, such as https://app.example.com',
  ),
  [{ corsOrigins: ['*', ...origins] }, 'Settings: corsOrigins: must be * alone, or origins'],
  [{ corsOrigins: origins, webFunctions: 'none' }, 'must be one origin at most when webFunctions is none: '],
  [{ domain: { ...domain, name: 'agents' } }, 'must be a full domain name'],
  [{ domain: { name: 'agents.example.com', certificateArn: 'arn:aws:iam::1:x' } }, 'ARN of a certificate'],
  [
    { domain: { ...domain, certificateArn: domain.certificateArn.replace('us-east-1', 'eu-west-1') } },
    'domain.certificateArn: must be of us-east-1 unless webFunctions is none',
  ],
  [
    { domain: { ...domain, hostedZone: { ...domain.hostedZone, name: 'example.org' } } },
    'must be the zone of the domain',
  ],
  [{ outboundAllow: ['127.0.0.1'] }, 'outboundAllow.0: must be HOST:PORT'],
  [{ webSearch: { provider: 'searxng', url: 'file:///etc' } }, 'webSearch.url'],
  [{ webSearch: { provider: 'searxng', url: 'https://search.example\n' } }, 'webSearch.url'],
  ...casesOf('rateLimits', [{ sends: '501/s' }, { sends: '1/s:10001' }], 'Settings: '),
  ...casesOf('rateLimits', [{ openBatches: 0 }, { openBatches: 10_000 }], 'Settings: '),
  [
    { batchTimeoutSeconds: 13 * 86_400 + 1 },
    'batchTimeoutSeconds: must be at most 1,123,200 (13 days): SQS keeps messages for 14 days',
  ],
  ...casesOf(
    'restoredTable',
    ['', 'ab', 'a table', 'arn:aws:dynamodb:eu-west-1:123456789012:table/restored'],
    'restoredTable: ',
  ),
])('%j is refused', (settings, problem) => {
  expect(() => parseSettings(settings)).toThrow(problem);
});

test.each<readonly [Record<string, unknown>]>([
  [{ batchTimeoutSeconds: 13 * 86_400 }],
  ...casesOf('webRequestsPerSecond', [0, 100, 200, 900, 1000, 2000, 10_000]),
  [
    {
      bedrockModels: [
        'openai.gpt-oss-120b-1:0',
        'deepseek.v3.2',
        'us.meta.llama3-3-70b-instruct-v1:0',
        'anthropic.claude-3-5-sonnet-20240620-v1:0:18k',
        'arn:aws-us-gov:bedrock:us-gov-west-1:123456789012:inference-profile/us-gov.anthropic.claude-3-haiku-20240307-v1:0',
      ],
    },
  ],
  [{ corsOrigins: [...origins, 'http://[::1]:8080'] }],
  [{ corsOrigins: ['*'] }],
  [{ corsOrigins: ['*'], webFunctions: 'none' }],
])('%j is taken', (settings) => {
  expect(parseSettings(settings)).toMatchObject(settings);
});

test('the highest rates are taken', () => {
  expect(() => parseSettings({ rateLimits: { sends: '500/s:10000', openBatches: 9999 } })).not.toThrow();
});

test.each([
  [false, ['127.0.0.1:*'], true],
  [false, ['receiver.internal:443', '[::1]:8080'], true],
  [false, ['receiver.internal:443'], false],
  [false, [], false],
  [true, ['127.0.0.1:*', '[::1]:*'], false],
])(
  'in a stage whose production is %j, webhookAllow %j lets a receiver have plain HTTP: %j',
  (production, webhookAllow, allows) => {
    expect(allowsPlainLoopback({ production, webhookAllow })).toBe(allows);
  },
);

test('production without an address for alarms warns, and so does each stage on a restored table', () => {
  const warningsOf = (context: Record<string, unknown>) =>
    Object.keys(operatorWarnings(stageOf(context).settings));
  expect(warningsOf({})).toEqual(['no-alarm-address']);
  expect(warningsOf({ settings: { alarmEmails: ['oncall@example.com'] } })).toEqual([]);
  for (const stage of ['staging', 'development', 'local']) {
    expect([stage, warningsOf({ stage })]).toEqual([stage, []]);
    expect(warningsOf({ stage, settings: { restoredTable: 'restored' } })).toEqual(['restored-table']);
  }
});

test('the committed docs/settings.md is the one that the schema makes', () => {
  const run = spawnSync(process.execPath, ['bin/settings.ts', '--check'], {
    cwd: join(import.meta.dirname, '..', '..'),
    encoding: 'utf8',
  });
  expect({ status: run.status, stderr: run.stderr }).toEqual({ status: 0, stderr: '' });
});
