import { expect, it } from 'vitest';
import * as z from 'zod';
import { describeIssues } from '#contract/describe-issues.ts';

const body = z.object({
  name: z.string(),
  kind: z.enum(['small', 'large']).optional(),
  flag: z.boolean().optional(),
  count: z.int().optional(),
  id: z.guid().optional(),
  note: z.string().max(3, { error: 'must be at most 3 characters' }).optional(),
  meta: z.record(z.string(), z.unknown()).optional(),
  items: z.array(z.object({ key: z.string(), tags: z.array(z.string()).optional() })).optional(),
});

function describeProblems(value: unknown, schema: z.ZodType = body): string {
  const { error } = schema.safeParse(value, { reportInput: true });
  return describeIssues(error?.issues ?? []);
}

it.each<[value: unknown, text: string]>([
  [{}, 'name is required'],
  [{ name: undefined }, 'name is required'],
  [{ name: null }, 'name must be a string'],
  [{ name: 5 }, 'name must be a string'],
  [{ name: 'A', kind: 'huge' }, 'kind must be one of small, large'],
  [{ name: 'A', kind: 5 }, 'kind must be one of small, large'],
  [{ name: 'A', flag: 'yes' }, 'flag must be true or false'],
  [{ name: 'A', count: 'x' }, 'count must be a number'],
  [{ name: 'A', count: 1.5 }, 'count must be an integer'],
  [{ name: 'A', id: 'x' }, 'id must be a UUID'],
  [{ name: 'A', note: 'long' }, 'note must be at most 3 characters'],
  [{ name: 'A', meta: [] }, 'meta must be an object'],
  [{ name: 'A', items: {} }, 'items must be an array'],
  [{ name: 'A', items: [{ key: 'k' }, {}] }, 'items[1].key is required'],
  [{ name: 'A', items: [{ key: 'k', tags: ['a', 5] }] }, 'items[0].tags[1] must be a string'],
  [{ name: 'A', items: [5] }, 'items[0] must be an object'],
  [null, 'The body must be an object'],
  [[], 'The body must be an object'],
  ['text', 'The body must be an object'],
])('%j: %s', (value, text) => {
  expect(describeProblems(value)).toBe(text);
});

it('says one sentence for each wrong field, in the order of the schema', () => {
  expect(describeProblems({ note: 'long', flag: 1 })).toBe(
    'name is required; flag must be true or false; note must be at most 3 characters',
  );
});

it('shows ten and counts the rest', () => {
  const items = Array.from({ length: 13 }, () => ({}));
  const text = describeProblems({ name: 'A', items });
  expect(text.split('; ')).toHaveLength(11);
  expect(text).toMatch(/^items\[0\]\.key is required; /);
  expect(text).toMatch(/; items\[9\]\.key is required; and 3 more$/);
  expect(describeProblems({ name: 'A', items: items.slice(0, 10) })).not.toContain('more');
});

it('never repeats what was sent', () => {
  expect(describeProblems({ name: ['secret'], id: 'secret', note: 'secret', kind: 'secret' })).not.toContain(
    'secret',
  );
});
