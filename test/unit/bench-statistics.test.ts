import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { percentile, percentiles, ratesOver, summarize } from '../bench/statistics.ts';

it('sums values up by their median, least and greatest', () => {
  expect(summarize([9, 1, 10])).toEqual({ median: 9, min: 1, max: 10 });
  expect(summarize([4, 1, 2, 10])).toEqual({ median: 3, min: 1, max: 10 });
  expect(summarize([7])).toEqual({ median: 7, min: 7, max: 7 });
});

it('refuses what was never measured', () => {
  expect(() => summarize([])).toThrow(RangeError);
  expect(() => summarize([1, Number.NaN])).toThrow(RangeError);
  expect(() => percentiles([])).toThrow(RangeError);
});

it('finds percentiles between neighbours', () => {
  const values = Array.from({ length: 101 }, (_, index) => 100 - index);
  expect(percentile(values, 0.95)).toBe(95);
  expect(percentile([0, 10], 0.25)).toBe(2.5);
  expect(percentiles(values).map((value) => Math.round(value * 1e9) / 1e9)).toEqual(values.toReversed());
});

it('has percentiles rise from the least to the greatest', () => {
  fc.assert(
    // `+ 0` avoids negative zero: it sorts as equal to zero, but `toBe` distinguishes them.
    fc.property(
      fc.array(
        fc.double({ noNaN: true, min: -1e9, max: 1e9 }).map((value) => value + 0),
        { minLength: 1 },
      ),
      (values) => {
        const all = percentiles(values);
        expect(all).toHaveLength(101);
        expect(all[0]).toBe(Math.min(...values));
        expect(all[100]).toBe(Math.max(...values));
        // Between two neighbours the last digit may be rounded.
        for (let index = 1; index < all.length; index += 1)
          expect((all[index] ?? 0) - (all[index - 1] ?? 0)).toBeGreaterThanOrEqual(-1e-6);
      },
    ),
  );
});

it('counts what happened in each part of a time, as a rate', () => {
  expect(ratesOver([0, 0.1, 0.9, 1.5, 2], 2, 2)).toEqual([
    { middle: 0.5, rate: 3 },
    { middle: 1.5, rate: 2 },
  ]);
  expect(ratesOver([], 1, 2).map(({ rate }) => rate)).toEqual([0, 0]);
});
