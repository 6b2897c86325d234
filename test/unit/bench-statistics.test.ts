import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { median, percentile, percentiles } from '../bench/statistics.ts';

it('refuses what was never measured', () => {
  expect(() => median([])).toThrow(RangeError);
  expect(() => percentile([1, Number.NaN], 0.5)).toThrow(RangeError);
});

it('finds percentiles between neighbours', () => {
  const values = Array.from({ length: 101 }, (_, index) => 100 - index);
  expect(percentile(values, 0.95)).toBe(95);
  expect(percentile([0, 10], 0.25)).toBe(2.5);
  expect(median([4, 1, 2, 10])).toBe(3);
  expect(percentiles(values)).toEqual({ p50: 50, p95: 95, p99: 99 });
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
        const all = Array.from({ length: 101 }, (_, index) => percentile(values, index / 100));
        expect(all[0]).toBe(Math.min(...values));
        expect(all[100]).toBe(Math.max(...values));
        // Between two neighbours the last digit may be rounded.
        for (let index = 1; index < all.length; index += 1)
          expect((all[index] ?? 0) - (all[index - 1] ?? 0)).toBeGreaterThanOrEqual(-1e-6);
      },
    ),
  );
});
