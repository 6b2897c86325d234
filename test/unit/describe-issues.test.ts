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
