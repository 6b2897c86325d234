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
  '9 4 0 290 975.946 2 612695.19753 55.62169 0.021018020100 0.0210',
  '575673602999 0 0 4229064 749786.536414 7.4 539.100878 0.510941 431632316899.749095294810 431632316899.7491',
  '588 0 0 28706 454.31 0 794006.832530 4.33667 0.391622729020 0.3916',
  '12 0 11 9 2 274.0849 281.890 396.1067 0.006667750300 0.0067',
  '320597453 0 0 323 800.2 504301.576567 712821.320851 31225.24184 256552.167643714320 256552.1676',
  '964162893 866733367 0 498780793 0 599.812 1.74 378798.567378 189457326.898389774754 189457326.8984',
  '331688733 172969140 0 563679692 3 0.1 1.5377 4.00683 2752.024393296360 2752.0244',
  '158761189152 8829305733 8521858123 56083 813.067 44547.920209 0.53085 966.984169 508307610.391650834774 508307610.3917',
  '8 0 1 51111941 3.1359 0 0 642140.2084 32821032.445490455700 32821032.4455',
  '443350389085 0 301658131176 8925215458 3.4 6.7 9 668366.19020 5968508929.235082711600 5968508929.2351',
  '635755 0 79341 893849232 489870.7 638.12559 0.1056 0.1342 272690.878615144000 272690.8786',
  '4511385 0 0 39494 471622 2.1 5.43604 0.63 2127668.441351220000 2127668.4414',
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
