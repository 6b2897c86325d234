import * as z from 'zod';
import { integerParameter } from './fields.ts';
import { limits } from './limits.ts';
import type { Pagination } from './pagination-object.ts';

/** So that the number of its page, which is one more with a limit of 1, is exact as well. */
const largestOffset = Number.MAX_SAFE_INTEGER - 1;

/** Query parameters of every list (specification, section 8). A value out of range is refused, never clamped. */
export const pageQuery = z.object({
  limit: integerParameter(1, limits.pageSizeMax)
    .default(limits.pageSizeDefault)
    .meta({
      override: { type: 'integer', minimum: 1, maximum: limits.pageSizeMax, default: limits.pageSizeDefault },
    }),
  offset: integerParameter(0, largestOffset)
    .default(0)
    .meta({ override: { type: 'integer', minimum: 0, maximum: largestOffset, default: 0 } }),
});

/**
 * The pagination object of one page.
 * @param address the request's own address with all its query parameters; links keep them and set limit and offset.
 */
export function paginate(page: { limit: number; offset: number; total: number; address: URL }): Pagination {
  const { limit, offset, total } = page;
  const link = (linkOffset: number): string => {
    const address = new URL(page.address);
    address.searchParams.set('limit', String(limit));
    address.searchParams.set('offset', String(linkOffset));
    // URLSearchParams writes a space as `+` and a plus as %2B; not every URL parser reads `+` as a space.
    address.search = address.search.replaceAll('+', '%20');
    return address.href;
  };
  // So that a client past the end returns in one step.
  const lastPage = Math.max(Math.floor((total - 1) / limit) * limit, 0);
  return {
    limit,
    offset,
    total_records: total,
    total_pages: Math.ceil(total / limit),
    current_page: Math.floor(offset / limit) + 1,
    next_page: offset + limit < total ? link(offset + limit) : null,
    // On page 1 there is none, also when the offset is no multiple of the limit.
    prev_page: offset >= limit ? link(Math.min(offset - limit, lastPage)) : null,
  };
}
