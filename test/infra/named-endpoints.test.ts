import { describe, expect, test } from 'vitest';
import { parseSettings } from '#lib/settings.ts';
import { variables } from '#runtime/environment/variables.ts';
import { evaluate, synthesize } from './synthesize.ts';

type Stack = ReturnType<typeof synthesize>;

const openAiEndpoints = {
  groq: { url: 'https://api.groq.com/openai/v1' },
  ownVllm2: { url: 'http://vllm.internal:8000/v1' },
};
const ids = ['OpenAiApiKeygroq', 'OpenAiApiKeyownVllm2'];

const inRegion = (service: string) => `arn:aws:${service}:ap-southeast-1:123456789012:`;
const longestIds: Readonly<Record<string, (id: string) => string>> = {
  'AWS::DynamoDB::GlobalTable': (id) => `agent-service-${'s'.repeat(23)}-${id}-${'x'.repeat(13)}`,
  'AWS::KMS::Key': () => `${inRegion('kms')}key/${'x'.repeat(36)}`,
  'AWS::Lambda::Function': () => `${inRegion('lambda')}function:${'x'.repeat(64)}`,
  'AWS::S3::Bucket': () => 'x'.repeat(63),
  'AWS::SecretsManager::Secret': (id) =>
    `${inRegion('secretsmanager')}secret:${id}-${'x'.repeat(12)}-${'x'.repeat(6)}`,
  'AWS::SQS::Queue': () => `https://sqs.ap-southeast-1.amazonaws.com/123456789012/${'x'.repeat(80)}`,
  'AWS::StepFunctions::StateMachine': () => `${inRegion('states')}stateMachine:${'x'.repeat(80)}`,
};

/** The bytes of a function's variables as JSON, which Lambda measures, in a stage whose resources have the longest names. */
function bytesOf({ template }: Stack, set: Record<string, unknown>): number {
  const { Resources } = template.toJSON() as { Resources: Record<string, { Type: string }> };
  const longest = (id: string): string => {
    const { [Resources[id]?.Type ?? '']: longestId } = longestIds;
    if (longestId === undefined) throw new Error(`How long is a reference to ${id}?`);
    return longestId(id);
  };
  const inSingapore = { 'AWS::Region': 'ap-southeast-1', 'AWS::AccountId': '123456789012' };
  return Buffer.byteLength(JSON.stringify(evaluate(template, set, inSingapore, longest, longest)));
}

const stack = synthesize({ settings: { webFunctions: 'all', openAiEndpoints } });

test('a stage without the setting has no variable, secret or output of endpoints', () => {
  const { template } = synthesize({ settings: { webFunctions: 'all' } });
  expect(JSON.stringify(template.toJSON())).not.toMatch(/OpenAiEndpoints|OPENAI_ENDPOINTS|OpenAiApiKey[a-z]/);
});

test('each endpoint has a secret with a fixed id, which outlives a production stack', () => {
  for (const id of ids)
    expect(stack.resource('AWS::SecretsManager::Secret', id)).toMatchObject({
      DeletionPolicy: 'RetainExceptOnCreate',
      UpdateReplacePolicy: 'Retain',
    });
});

const named = (count: number, url = 'https://models.example/v1') =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`e${index}`, { url }]));

describe('is refused with a reason:', () => {
  test.each<[string, Record<string, unknown>, string]>([
    ['a capital letter first', { Groq: { url: 'https://a.example' } }, 'openAiEndpoints: must have names of'],
    ['a hyphen', { 'my-vllm': { url: 'https://a.example' } }, 'openAiEndpoints: must have names of'],
    ['21 characters', { ['n'.repeat(21)]: { url: 'https://a.example' } }, 'openAiEndpoints: must have names'],
    ['eleven', named(11), 'openAiEndpoints: must be at most 10 endpoints'],
    [
      'more than fits',
      named(10, `https://models.example/${'p'.repeat(100)}`),
      'openAiEndpoints: must be fewer endpoints, or shorter ones: with openAiBaseUrl, outboundAllow, toolAllow and webSearch ' +
        "they take 2595 bytes of a function's variables, which have room for 2100",
    ],
  ])('%s', (_, endpoints, problem) => {
    expect(() => parseSettings({ openAiEndpoints: endpoints })).toThrow(problem);
  });

  test('many internal addresses beside an endpoint, but not without one', () => {
    const outboundAllow = Array.from({ length: 100 }, (_, index) => `wiki-${index}.internal:443`);
    expect(() => parseSettings({ outboundAllow, openAiEndpoints: named(1) })).toThrow(
      'openAiEndpoints: must',
    );
    expect(() => parseSettings({ outboundAllow })).not.toThrow();
  });
});

test.each(['all', 'none'])(
  'what is accepted fits into the 4 KB of Lambda, with web functions: %s',
  (webFunctions) => {
    const name = 's'.repeat(23);
    const stageWith = (length: number) => ({
      webFunctions,
      webSearch: { provider: 'brave' },
      openAiEndpoints: named(10, `https://${'m'.repeat(length - 8)}`),
    });
    const longest = Array.from({ length: 200 }, (_, index) => 200 - index).find((length) => {
      try {
        return parseSettings(stageWith(length));
      } catch {
        return false;
      }
    });
    if (longest === undefined) throw new Error('No length is accepted');
    const largest = synthesize({
      ...{ stage: name, stages: { [name]: stageWith(longest) } },
      settings: { webFunctions },
    });
    const sizes = [...largest.environments]
      .filter(([, set]) => variables.openAiEndpoints in set)
      .map(([, set]) => bytesOf(largest, set));
    console.log(`Ten addresses of ${longest} characters: up to ${Math.max(...sizes)} bytes`);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(4096);
    expect(Math.max(...sizes)).toBeGreaterThan(3800);
  },
);
