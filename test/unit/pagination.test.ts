import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pageQuery, paginate } from '#contract/pagination.ts';
import { pagination } from '#contract/pagination-object.ts';

const address = new URL('https://example.com/api/v1/chats?agent_id=a&external_user_id=x%20%26%23+y');
const offsetOf = (link: string | null): number | null =>
  link === null ? null : Number(new URL(link).searchParams.get('offset'));

describe('the pagination object', () => {
  it.each([
    // limit, offset, total → pages, page, next, previous
    [50, 0, 0, 0, 1, null, null],
    [50, 0, 1, 1, 1, null, null],
    [50, 0, 50, 1, 1, null, null],
    [50, 0, 51, 2, 1, 50, null],
    [50, 50, 51, 2, 2, null, 0],
    [10, 5, 30, 3, 1, 15, null],
    [10, 9, 30, 3, 1, 19, null],
    [10, 10, 30, 3, 2, 20, 0],
    [10, 15, 30, 3, 2, 25, 5],
    [10, 20, 30, 3, 3, null, 10],
    [10, 30, 30, 3, 4, null, 20],
    [10, 500, 30, 3, 51, null, 20],
    [10, 25, 3, 1, 3, null, 0],
    [10, 45, 30, 3, 5, null, 20],
    [10, 10, 0, 0, 2, null, 0],
    [1, 999_999, 1_000_001, 1_000_001, 1_000_000, 1_000_000, 999_998],
  ])('limit %d, offset %d, total %d: %d pages, page %d, next %j, previous %j', (...numbers) => {
    const [limit, offset, total, pages, page, next, previous] = numbers as [
      number,
      number,
      number,
      number,
      number,
      number | null,
      number | null,
    ];
    const { next_page, prev_page, ...rest } = paginate({ limit, offset, total, address });
    expect(rest).toEqual({ limit, offset, total_records: total, total_pages: pages, current_page: page });
    expect([offsetOf(next_page), offsetOf(prev_page)]).toEqual([next, previous]);
  });

  it('has links that keep every other parameter and replace limit and offset', () => {
    const requestAddress = new URL(`${address.href}&offset=10&limit=10`);
    const { next_page, prev_page } = paginate({ limit: 10, offset: 10, total: 30, address: requestAddress });
    for (const [link, offset] of [
      [next_page, '20'],
      [prev_page, '0'],
    ] as const) {
      const url = new URL(link ?? '');
      expect(url.origin + url.pathname).toBe('https://example.com/api/v1/chats');
      expect(Object.fromEntries(url.searchParams)).toEqual({
        agent_id: 'a',
        external_user_id: 'x &# y',
        limit: '10',
        offset,
      });
    }
    expect(requestAddress.searchParams.get('offset')).toBe('10');
  });

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

describe('the query of a page', () => {
  it.each([
    [{}, { limit: 50, offset: 0 }],
    [{ limit: '1' }, { limit: 1, offset: 0 }],
    [
      { limit: '1000', offset: '0' },
      { limit: 1000, offset: 0 },
    ],
    [{ offset: '9007199254740990' }, { limit: 50, offset: Number.MAX_SAFE_INTEGER - 1 }],
    [{ limit: '007' }, { limit: 7, offset: 0 }],
  ])('%j is %j', (given, expected) => {
    expect(pageQuery.parse(given)).toEqual(expected);
  });

  it.each(['0', '-1', '1001', '', ' 1', '1 ', '+1', '1.0', '1e2', '0x1', 'abc', '∞', '١', '9'.repeat(20)])(
    'a limit of %j is refused',
    (limit) => {
      expect(pageQuery.safeParse({ limit }).success).toBe(false);
    },
  );

  it.each(['-1', '', '0.5', 'abc', '9007199254740992', '9'.repeat(20)])(
    'an offset of %j is refused',
    (offset) => {
      expect(pageQuery.safeParse({ offset }).success).toBe(false);
    },
  );
});
