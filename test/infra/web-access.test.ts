import { expect, test } from 'vitest';
import { parseSettings } from '#lib/settings.ts';
import { synthesize } from './synthesize.ts';

const variablesOf = ({ resource }: ReturnType<typeof synthesize>, name: string) =>
  (resource('AWS::Lambda::Function', name).Properties.Environment as { Variables: Record<string, unknown> })
    .Variables;
const secretsOf = ({ resources }: ReturnType<typeof synthesize>) =>
  Object.keys(resources('AWS::SecretsManager::Secret'));

test('unless a stage says otherwise, agents reach public addresses alone and search nowhere', () => {
  const stack = synthesize();
  const names = Object.keys(variablesOf(stack, 'SendMessage'));
  expect(names.filter((name) => /OUTBOUND|SEARCH/.test(name))).toEqual([]);
  expect(secretsOf(stack)).not.toContain('BraveApiKey');
});

test.each([
  [{ outboundAllow: ['127.0.0.1'] }, 'outboundAllow.0: must be HOST:PORT'],
  [{ outboundAllow: '127.0.0.1:80' }, 'outboundAllow'],
  [{ webSearch: { provider: 'other' } }, 'webSearch.provider'],
  [{ webSearch: { provider: 'searxng' } }, 'webSearch.url'],
  [{ webSearch: { provider: 'searxng', url: 'file:///etc' } }, 'webSearch.url'],
  [{ webSearch: { provider: 'brave', key: 'k' } }, 'webSearch'],
])('%j is refused', (settings, problem) => {
  expect(() => parseSettings(settings)).toThrow(problem);
});
