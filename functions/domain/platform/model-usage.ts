/** A call of a model. `callType` is `chat`, or the type of the reasoning step that made the call. */
export type CountedCall = [model: string, callType: string, promptTokens: number, completionTokens: number];

/** Adds counts by their names. A count that is missing in the second is 0. */
export const sumOf = <Counts extends { [Name in keyof Counts]: number }>(
  one: Counts,
  other: { readonly [Name in keyof Counts]?: number | undefined },
): Counts =>
  Object.fromEntries(
    Object.entries<number>(one).map(([name, count]) => [name, count + (other[name as keyof Counts] ?? 0)]),
  ) as Counts;
