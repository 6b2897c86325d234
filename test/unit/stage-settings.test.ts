import { expect, it } from 'vitest';
import { endpointKeys, type SettingOptions, stageSettings } from '../../bin/local/stage-settings.ts';

const settingsOf = (options: Partial<SettingOptions>, variables: NodeJS.ProcessEnv = {}) =>
  stageSettings({ set: [], allowOutbound: [], toolFunction: {}, ...options }, variables);

it.each([
  ['batchWorkers=3', { batchWorkers: 3 }],
  ['logLevel=WARN', { logLevel: 'WARN' }],
  ['openAiBaseUrl=http://127.0.0.1:1/v1?a=b', { openAiBaseUrl: 'http://127.0.0.1:1/v1?a=b' }],
  ['rateLimits={"sends":"1/s"}', { rateLimits: { sends: '1/s' } }],
  ['logLevel=', { logLevel: '' }],
])('%s is read as JSON, or else as text', (text, settings) => {
  expect(settingsOf({ set: [text] })).toEqual(settings);
});

it('of two with one name the later counts, and a variable less than either', () => {
  const set = ['openAiBaseUrl=http://one', 'openAiBaseUrl=http://two'];
  expect(settingsOf({ set }, { OPENAI_BASE_URL: 'http://variable' })).toEqual({
    openAiBaseUrl: 'http://two',
  });
});

it('joins the addresses of --allow-outbound to those that are set', () => {
  const set = ['outboundAllow=["wiki.internal:443"]'];
  expect(settingsOf({ set, allowOutbound: ['127.0.0.1:80'] })).toEqual({
    outboundAllow: ['wiki.internal:443', '127.0.0.1:80'],
  });
  expect(settingsOf({ allowOutbound: ['127.0.0.1:80'] })).toEqual({ outboundAllow: ['127.0.0.1:80'] });
  expect(settingsOf({ set: ['outboundAllow=text'], allowOutbound: ['127.0.0.1:80'] })).toEqual({
    outboundAllow: 'text',
  });
});

it('joins the functions of --tool-function to those that are set', () => {
  const [one, two] = ['one', 'two'].map(
    (name) => `arn:aws:lambda:eu-central-1:123456789012:function:${name}:live`,
  );
  const set = [`toolFunctions=["${one}"]`];
  expect(settingsOf({ set, toolFunction: { [String(two)]: '/two.mjs' } })).toEqual({
    toolFunctions: [one, two],
  });
  expect(settingsOf({ set })).toEqual({ toolFunctions: [one] });
});

it('names every one that is no NAME=VALUE', () => {
  expect(() => settingsOf({ set: ['one', 'two=2', '=3'] })).toThrow(
    '--set takes NAME=VALUE. These are not: one, =3',
  );
});

it('reads the keys of named endpoints, by the secrets that get them', () => {
  expect(
    endpointKeys({
      ...{ OPENAI_API_KEY: 'plain', OPENAI_API_KEY_groq: 'one', OPENAI_API_KEY_ownVllm2: 'two' },
      ...{ OPENAI_API_KEY_empty: '', OPENAI_API_KEY_: 'nameless', MY_OPENAI_API_KEY_x: 'other' },
    }),
  ).toEqual({ OpenAiApiKeygroq: 'one', OpenAiApiKeyownVllm2: 'two' });
});
