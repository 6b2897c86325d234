import * as z from 'zod';
import { integerParameter } from './fields.ts';
import { limits } from './limits.ts';
import type { Pagination } from './pagination-object.ts';

/** With a limit of 1, `current_page` is the offset plus 1, which must be a safe integer too. */
const maxOffset = Number.MAX_SAFE_INTEGER - 1;

const integerWithDefault = (minimum: number, maximum: number, value: number) =>
  integerParameter(minimum, maximum)
    .default(value)
    .meta({ override: { type: 'integer', minimum, maximum, default: value } });

/** Specification, section 8. */
export const pageQuery = z.object({
  limit: integerWithDefault(1, limits.pageSizeMax, limits.pageSizeDefault),
  offset: integerWithDefault(0, maxOffset, 0),
});

/** A page begins after the row with the number `id`, or ends before it. */
export interface Cursor {
  isAfter: boolean;
  id: number;
  /** The `offset` of the page if `isAfter`, else `offset` plus `limit`. A list ignores a cursor with another value. */
  offset: number;
}

/**
 * `a123.50`: the page begins after the row 123, at offset 50. `b123.50`: the page ends before the row 123, and before
 * offset 50.
 */
const cursor = z
  .string()
  .regex(/^[ab]\d{1,10}\.\d{1,16}$/, { error: 'must be that of a link', abort: true })
  .transform((text): Cursor => {
    const [id = '', offset = ''] = text.slice(1).split('.');
    return { isAfter: text.startsWith('a'), id: Number(id), offset: Number(offset) };
  })
  .meta({ override: { type: 'string', pattern: '^[ab][0-9]{1,10}\\.[0-9]{1,16}$' } });

export const cursorQuery = pageQuery.extend({ cursor: cursor.optional() });

export interface ListPage {
  limit: number;
  offset: number;
  ascending: boolean;
  cursor?: Cursor | undefined;
}

/** `first` and `last` are the numbers of rows; null for a page without rows. */
export interface PageEnds {
  hasMore: boolean;
  first: number | null;
  last: number | null;
}

/**
 * @param page.address the request's URL, whose query parameters the links copy
 * @param page.ends undefined for a list without cursors
 */
export function paginate(page: {
  limit: number;
  offset: number;
  total: number;
  address: URL;
  ends?: PageEnds | undefined;
}): Pagination {
  const { limit, offset, total, ends } = page;
  const link = (linkOffset: number, linkCursor: string | null): string => {
    const address = new URL(page.address);
    address.searchParams.set('limit', String(limit));
    address.searchParams.set('offset', String(linkOffset));
    if (linkCursor === null) address.searchParams.delete('cursor');
    else address.searchParams.set('cursor', linkCursor);
    // URLSearchParams writes a space as `+`, which some URL parsers do not read as a space.
    address.search = address.search.replaceAll('+', '%20');
    return address.href;
  };
  // A previous page that would be past the end is the last page.
  const lastPage = Math.max(Math.floor((total - 1) / limit) * limit, 0);
  const next = offset + limit;
  const previous = Math.min(offset - limit, lastPage);
  const { first = null, last = null } = ends ?? {};
  return {
    limit,
    offset,
    total_records: total,
    total_pages: Math.ceil(total / limit),
    current_page: Math.floor(offset / limit) + 1,
    next_page: (ends?.hasMore ?? next < total) ? link(next, last === null ? null : `a${last}.${next}`) : null,
    // A link to offset 0 has no cursor, so it shows the first rows.
    prev_page:
      offset < limit
        ? null
        : link(previous, first === null || previous === 0 ? null : `b${first}.${previous + limit}`),
  };
}

export const orderBy = z.enum(['created_at', '-created_at', 'asc', 'desc']);

export const isAscending = (order: z.infer<typeof orderBy>): boolean =>
  order === 'asc' || order === 'created_at';
