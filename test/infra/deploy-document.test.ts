import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseSettings } from '#lib/settings.ts';
import { synthesize } from './synthesize.ts';

const document = readFileSync(join(import.meta.dirname, '../../docs/deploy.md'), 'utf8');
const { template } = synthesize({
  settings: {
    webFunctions: 'all',
    webSearch: { provider: 'brave' },
    openAiEndpoints: { groq: { url: 'https://api.groq.com/openai/v1' } },
    toolAllow: ['crm.internal:443'],
    toolFunctions: ['arn:aws:lambda:eu-central-1:123456789012:function:orders:live'],
  },
});

test('docs/deploy.md tells every output of the stack, and none besides', () => {
  const [table = ''] = document.split('\n\n').filter((part) => part.startsWith('|'));
  const cells = table
    .split('\n')
    .slice(2)
    .map((line) => line.split('|')[1] ?? '');
  const documented = cells.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name));
  expect(documented.toSorted()).toEqual(Object.keys(template.findOutputs('*')).toSorted());
});

test('its settings are such as a stage takes', () => {
  const [, json = ''] = /```json\n([\s\S]*?)```/.exec(document) ?? [];
  const { production } = JSON.parse(`{${json}}`.replaceAll('…:', '123456789012:').replaceAll('…', '0A1'));
  production.domain.certificateArn = production.domain.certificateArn.replace('/0A1', '/0a1');
  expect(parseSettings(production)).toMatchObject({ firewall: { mode: 'count' } });
});
