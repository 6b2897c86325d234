import * as z from 'zod';
import { integerParameter } from './fields.ts';
import { limits } from './limits.ts';
import type { Pagination } from './pagination-object.ts';

/** With a limit of 1, `current_page` is the offset plus 1. This number must be a safe integer too. */
const maxOffset = Number.MAX_SAFE_INTEGER - 1;

/**
 * Query parameters of the lists that have pages (specification, section 8). A value out of range is rejected, never
 * clamped.
 */
export const pageQuery = z.object({
  limit: integerParameter(1, limits.pageSizeMax)
    .default(limits.pageSizeDefault)
    .meta({
      override: { type: 'integer', minimum: 1, maximum: limits.pageSizeMax, default: limits.pageSizeDefault },
    }),
  offset: integerParameter(0, maxOffset)
    .default(0)
    .meta({ override: { type: 'integer', minimum: 0, maximum: maxOffset, default: 0 } }),
});

/** A place in a list: after the row with this number (a page begins there), or before that row (a page ends there). */
export interface Cursor {
  isAfter: boolean;
  id: number;
  /**
   * The offset of the first row after the place. A page that neither begins nor ends at this offset ignores the
   * cursor.
   */
  offset: number;
}

/**
 * The text of a cursor. `a123.50`: the page begins after the row 123, at offset 50. `b123.50`: the page ends before the
 * row 123, which has the offset 50.
 */
const cursor = z
  .string()
  .regex(/^[ab]\d{1,10}\.\d{1,16}$/, { error: 'must be that of a link', abort: true })
  .transform((text): Cursor => {
    const [id = '', offset = ''] = text.slice(1).split('.');
    return { isAfter: text.startsWith('a'), id: Number(id), offset: Number(offset) };
  })
  .meta({ override: { type: 'string', pattern: '^[ab][0-9]{1,10}\\.[0-9]{1,16}$' } });

/** Query parameters of a list whose rows may be added and deleted while a client reads it. */
export const cursorQuery = pageQuery.extend({ cursor: cursor.optional() });

/** Which page of a list with cursors is read. */
export interface ListPage {
  limit: number;
  offset: number;
  ascending: boolean;
  cursor?: Cursor | undefined;
}

/** What the links to the next and the previous page need to know of the rows of a page. */
export interface PageEnds {
  /** Whether there are rows after the page. */
  hasMore: boolean;
  /** The number of the first row; null for a page without rows. */
  first: number | null;
  /** The number of the last row; null for a page without rows. */
  last: number | null;
}

/**
 * The pagination object of one page.
 * @param page.address the request's URL with all its query parameters; the links copy it, and set limit, offset and
 *   cursor
 * @param page.ends the first and the last row, for links with cursors; undefined for a list without cursors
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
    // URLSearchParams writes a space as `+` and a plus as `%2B`. Some URL parsers do not read `+` as a space.
    address.search = address.search.replaceAll('+', '%20');
    return address.href;
  };
  // If the page is past the end of the list, the link to the previous page is to the last page.
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
    // null on page 1, also if the offset is not a multiple of the limit. A link to offset 0 has no cursor, so it always
    // shows the first rows.
    prev_page:
      offset < limit
        ? null
        : link(previous, first === null || previous === 0 ? null : `b${first}.${previous + limit}`),
  };
}

export const orderBy = z.enum(['created_at', '-created_at', 'asc', 'desc']);

/** `asc` equals `created_at`; `desc` equals `-created_at`. */
export const isAscending = (order: z.infer<typeof orderBy>): boolean =>
  order === 'asc' || order === 'created_at';
