import type { ListPage, PageEnds } from '#contract/pagination.ts';

/**
 * A page of a list in memory, as the service's pages are.
 * @param numbers of the rows, ascending
 */
export function pageOf(
  numbers: readonly number[],
  { limit, offset, ascending, cursor }: ListPage,
): { total: number; numbers: number[]; ends: PageEnds } {
  const total = numbers.length;
  const ordered = ascending ? numbers : numbers.toReversed();
  const isAfter = (number: number, id: number): boolean => (ascending ? number > id : number < id);
  const select = (): { found: number[]; hasMore: boolean } => {
    if (cursor?.isAfter === true && cursor.offset === offset) {
      const after = ordered.filter((number) => isAfter(number, cursor.id));
      return { found: after.slice(0, limit), hasMore: after.length > limit };
    }
    if (cursor?.isAfter === false && cursor.offset === offset + limit) {
      const before = ordered.filter((number) => isAfter(cursor.id, number));
      return { found: before.slice(-limit), hasMore: true };
    }
    return { found: ordered.slice(offset, offset + limit), hasMore: offset + limit < total };
  };
  const { found, hasMore } = select();
  return { total, numbers: found, ends: { hasMore, first: found[0] ?? null, last: found.at(-1) ?? null } };
}
