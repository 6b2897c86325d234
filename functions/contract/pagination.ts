import * as z from 'zod';
import { integerParameter } from './fields.ts';
import { limits } from './limits.ts';
import type { Pagination } from './pagination-object.ts';

/** With a limit of 1, `current_page` is the offset plus 1. It must be a safe integer too. */
const maxOffset = Number.MAX_SAFE_INTEGER - 1;

/** Query parameters of every list (specification, section 8). A value out of range is rejected, never clamped. */
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

/**
 * The pagination object of one page.
 * @param page.address the request's URL with all its query parameters; the links copy it and set limit and offset
 */
export function paginate(page: { limit: number; offset: number; total: number; address: URL }): Pagination {
  const { limit, offset, total } = page;
  const link = (linkOffset: number): string => {
    const address = new URL(page.address);
    address.searchParams.set('limit', String(limit));
    address.searchParams.set('offset', String(linkOffset));
    // URLSearchParams writes a space as `+` and a plus as `%2B`. Some URL parsers do not read `+` as a space.
    address.search = address.search.replaceAll('+', '%20');
    return address.href;
  };
  // A client past the end gets a link to the last page.
  const lastPage = Math.max(Math.floor((total - 1) / limit) * limit, 0);
  return {
    limit,
    offset,
    total_records: total,
    total_pages: Math.ceil(total / limit),
    current_page: Math.floor(offset / limit) + 1,
    next_page: offset + limit < total ? link(offset + limit) : null,
    // null on page 1, also if the offset is not a multiple of the limit.
    prev_page: offset >= limit ? link(Math.min(offset - limit, lastPage)) : null,
  };
}
