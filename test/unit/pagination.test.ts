import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { paginate } from '#contract/pagination.ts';
import { pagination } from '#contract/pagination-object.ts';

const address = new URL('https://example.com/api/v1/chats?agent_id=a&external_user_id=x%20%26%23+y');
const offsetOf = (link: string | null): number | null =>
  link === null ? null : Number(new URL(link).searchParams.get('offset'));

describe('the pagination object', () => {
  const anyPage = fc.record({
    limit: fc.integer({ min: 1, max: 1000 }),
    offset: fc.nat(100_000),
    total: fc.nat(100_000),
  });

  it('agrees with itself, whatever the page', () => {
    fc.assert(
      fc.property(anyPage, ({ limit, offset, total }) => {
        const page = pagination.parse(paginate({ limit, offset, total, address }));
        expect(page.next_page === null).toBe(offset + limit >= total);
        expect(page.prev_page === null).toBe(page.current_page === 1);
        if (total > 0 && offset < total) expect(page.current_page).toBeLessThanOrEqual(page.total_pages);
      }),
    );
  });

  it('leads through every row once, from the first page by its next links', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 50 }), fc.nat(500), (limit, total) => {
        const items: number[] = [];
        for (let offset: number | null = 0; offset !== null; ) {
          for (let item = offset; item < Math.min(offset + limit, total); item += 1) items.push(item);
          offset = offsetOf(paginate({ limit, offset, total, address }).next_page);
        }
        expect(items).toEqual(Array.from({ length: total }, (_, item) => item));
      }),
      { numRuns: 30 },
    );
  });
});
