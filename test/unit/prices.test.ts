import { describe, expect, it, test } from 'vitest';
import {
  costOf,
  formatCost,
  inDollars,
  noModelUsage,
  type Price,
  parsePrice,
} from '#domain/workspaces/usage.ts';

const price = (input: string, cached = input, written = input, output = input): Price => {
  const [one, two, three, four] = [input, cached, written, output].map(parsePrice);
  if (one === undefined || two === undefined || three === undefined || four === undefined)
    throw new Error('A price of the test is wrong');
  return { input: one, cached: two, written: three, output: four };
};

/**
 * Tokens of the prompt, of these those from and those to the cache, and tokens of the completion; the four prices in
 * dollars per million; the cost in dollars as Python's decimal computes it, exactly and rounded to 0.0001.
 */
test.each([
  '0 0 0 0 0.25 0.025 0.3125 2 0.000000000000 0.0000',
  '1 0 0 0 0.000001 0 0 0 0.000000000001 0.0000',
  '1000 800 100 50 0.25 0.025 0.3125 2 0.000176250000 0.0002',
  '50 0 0 0 1 0 0 0 0.000050000000 0.0001',
  '49 0 0 0 1 0 0 0 0.000049000000 0.0000',
  '9007199254740991 0 9007199254740991 9007199254740991 999999.999999 999999.999999 999999.999999 999999.999999 18014398509463967.601490518018 18014398509463967.6015',
])('the cost is exact: %s', (line) => {
  const words = line.split(' ');
  const [promptTokens = 0, cachedTokens = 0, writtenTokens = 0, completionTokens = 0] = words.map(Number);
  const [input = '', cached, written, output, exact, rounded] = words.slice(4);
  const usage = { calls: 1, promptTokens, cachedTokens, writtenTokens, completionTokens };
  const cost = costOf({ '2027-01-01': price(input, cached, written, output) }, '2027-01-31', usage);
  if (cost === undefined) expect.unreachable(line);
  expect([formatCost(cost), formatCost(cost, 4)]).toEqual([exact, rounded]);
});

describe('a price', () => {
  it('is read exactly, and printed without zeros at its end', () => {
    for (const [text, picodollars, printed = text] of [
      ['0', 0],
      ['0.25', 250_000],
      ['0.3125', 312_500],
      ['0.000001', 1],
      ['100', 100_000_000],
      ['007.50', 7_500_000, '7.5'],
      ['999999.999999', 999_999_999_999],
    ] as const) {
      expect(parsePrice(text), text).toBe(picodollars);
      expect(inDollars(price(text, '1')), text).toEqual({
        input: printed,
        cached: '1',
        written: printed,
        output: printed,
      });
    }
  });

  it('is digits with at most six decimals', () => {
    for (const text of [
      ...['', ' ', '.5', '5.', '-1', '+1', '1e3', '1E-3', '0x10', '1,5', '1 000', ' 1', '1\n', '1_000', '٣'],
      ...['0.0000001', '0.2500000', '1000000', '0000001', 'NaN', 'Infinity', '$1', '1.2.3'],
    ])
      expect(parsePrice(text), JSON.stringify(text)).toBeUndefined();
  });
});

test('the price of a day is the one that started last', () => {
  const prices = { '2027-02-01': price('3'), '2026-12-31': price('1'), '2027-01-02': price('2') };
  const costOn = (day: string) => costOf(prices, day, { ...noModelUsage, promptTokens: 1 });
  expect(costOn('2026-12-30')).toBeUndefined();
  expect(costOn('2026-12-31')).toBe(1_000_000n);
  expect(costOn('2027-01-01')).toBe(1_000_000n);
  expect(costOn('2027-01-02')).toBe(2_000_000n);
  expect(costOn('2027-01-31')).toBe(2_000_000n);
  expect(costOn('2028-01-01')).toBe(3_000_000n);
  expect(costOf(undefined, '2027-01-01', noModelUsage)).toBeUndefined();
  expect(costOf({}, '2027-01-01', noModelUsage)).toBeUndefined();
});
