import { expect, test } from 'vitest';
import { operatorWarnings, parseSettings } from '#lib/settings.ts';
import { readStage } from '#lib/stage.ts';
import { createApp } from './synthesize.ts';

const stageOf = (context: Record<string, unknown>) => readStage(createApp(context).node);

test('a stage that nobody names is production, whose data is kept', () => {
  expect(stageOf({})).toMatchObject({ name: 'production', settings: { production: true } });
});

test('each stage of cdk.json has its own settings and the defaults', () => {
  expect(stageOf({ stage: 'development' }).settings).toMatchObject({
    production: false,
    authorizerCacheSeconds: 60,
  });
  expect(stageOf({ stage: 'local' }).settings).toMatchObject({
    production: false,
    authorizerCacheSeconds: 60,
  });
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

test.each([
  [{ streamTimeoutSeconds: 300 }, 'streamTimeoutSeconds: must be less than the 300 s'],
  [{ authorizerCacheSeconds: 301 }, 'authorizerCacheSeconds'],
  [{ webEnvironments: 1 }, 'webEnvironments'],
  [{ webEnvironments: 10_001 }, 'webEnvironments'],
  [{ openAiBaseUrl: 'ftp://models.example' }, 'openAiBaseUrl'],
  [{ openAiBaseUrl: 'https:/models.example' }, 'openAiBaseUrl'],
  [{ openAiBaseUrl: ' https://models.example' }, 'openAiBaseUrl'],
  [{ webSearch: { provider: 'searxng', url: 'https://search.example\n' } }, 'webSearch.url'],
  [{ logRetentionDays: 31 }, 'logRetentionDays'],
  [
    { batchTimeoutSeconds: 13 * 86_400 + 1 },
    'batchTimeoutSeconds: must be at most 1,123,200 (13 days): SQS keeps messages for 14 days',
  ],
])('%j is refused', (settings, problem) => {
  expect(() => parseSettings(settings)).toThrow(problem);
});

test('a batch may take 13 days', () => {
  const batchTimeoutSeconds = 13 * 86_400;
  expect(parseSettings({ batchTimeoutSeconds })).toMatchObject({ batchTimeoutSeconds });
});

test.each([-100, 1, 99, 150, 1001, 1100, 2500, 10_001, 11_000, 0.5])(
  'a web endpoint may not take %d requests a second',
  (rate) => {
    expect(() => parseSettings({ webRequestsPerSecond: rate })).toThrow('webRequestsPerSecond: ');
  },
);

test.each([0, 100, 200, 900, 1000, 2000, 10_000])('a web endpoint may take %d requests a second', (rate) => {
  expect(parseSettings({ webRequestsPerSecond: rate }).webRequestsPerSecond).toBe(rate);
});

test.each([
  [{ largeUploads: true }, 'largeUploads: no such setting'],
  [{ webFunctions: true }, 'webFunctions: '],
  [{ webFunctions: 'chats' }, 'webFunctions: '],
])('%j is refused, with the name of the setting', (settings, problem) => {
  expect(() => parseSettings(settings)).toThrow(`Settings: ${problem}`);
});

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

test.each(['', 'ab', 'a table', 'arn:aws:dynamodb:eu-west-1:123456789012:table/restored'])(
  'a restored table cannot be %j',
  (restoredTable) => {
    expect(() => parseSettings({ restoredTable })).toThrow('restoredTable: ');
  },
);

test.each([0, 129, 1.5, '64'])(
  'an environment may not take %j requests at once',
  (requestsPerEnvironment) => {
    expect(() => parseSettings({ requestsPerEnvironment })).toThrow('requestsPerEnvironment: ');
  },
);

test.each([1, 64, 128])('an environment may take %d requests at once', (requestsPerEnvironment) => {
  expect(parseSettings({ requestsPerEnvironment })).toMatchObject({ requestsPerEnvironment });
});

test('an environment takes 64 requests at once by default, and on one machine as many as Lambda allows', () => {
  expect(stageOf({}).settings.requestsPerEnvironment).toBe(64);
  expect(stageOf({ stage: 'local' }).settings.requestsPerEnvironment).toBe(128);
});
