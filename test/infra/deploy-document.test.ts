import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseSettings } from '#lib/settings.ts';
import { synthesize } from './synthesize.ts';

const document = readFileSync(join(import.meta.dirname, '../../docs/deploy.md'), 'utf8');
const { template, resources } = synthesize({
  settings: { largeUploads: true, webSearch: { provider: 'brave' } },
});

const tables = document
  .split('\n\n')
  .filter((part) => part.startsWith('|'))
  .map((part) =>
    part
      .trim()
      .split('\n')
      .slice(2)
      .map((line) =>
        line
          .split('|')
          .slice(1, -1)
          .map((cell) => cell.trim()),
      ),
  );

test('docs/deploy.md tells every output of the stack, and none besides', () => {
  const [outputs = []] = tables;
  const told = outputs.flatMap(([cell = '']) => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name));
  expect(told.toSorted()).toEqual(Object.keys(template.findOutputs('*')).toSorted());
});

test('its sums are those of their lines', () => {
  const sums = tables.filter((rows) => rows.some(([first]) => first === '**in all**'));
  expect(sums).toHaveLength(3);
  for (const rows of sums) {
    const dollars = (row: string[] = []) => Number(row.at(-1)?.replaceAll('*', ''));
    const lines = rows.filter(([first]) => first !== '**in all**');
    const total = lines.reduce((sum, row) => sum + dollars(row), 0);
    expect(total.toFixed(2)).toBe(dollars(rows.at(-1)).toFixed(2));
  }
});

test('it counts alarms as they are, and what they look at', () => {
  const alarms = Object.values(resources('AWS::CloudWatch::Alarm'));
  const metrics = alarms.flatMap(({ Properties }) =>
    ((Properties.Metrics ?? [{ MetricStat: {} }]) as { MetricStat?: object }[]).filter(
      ({ MetricStat }) => MetricStat !== undefined,
    ),
  );
  expect(document).toContain(`| ${alarms.length}, which look at ${metrics.length} metrics, 0.10 each `);
});

test('its settings are such as a stage takes', () => {
  const [, json = ''] = /```json\n([\s\S]*?)```/.exec(document) ?? [];
  const { production } = JSON.parse(`{${json}}`.replaceAll('…:', '123456789012:').replaceAll('…', '0A1'));
  production.domain.certificateArn = production.domain.certificateArn.replace('/0A1', '/0a1');
  expect(parseSettings(production)).toMatchObject({ firewall: { mode: 'count' } });
  for (const [, text = ''] of document.matchAll(/-c settings='(\{[^']*\})'/g))
    expect(() => parseSettings(JSON.parse(text))).not.toThrow();
});
