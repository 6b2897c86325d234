import { expect, it } from 'vitest';
import {
  formatLimits,
  formatRateLimit,
  type Limits,
  openBatchesLimit,
  parseLimits,
  rateLimit,
} from '#contract/rate-limits.ts';

it.each([
  ['5/s:10', { count: 5, seconds: 1, burst: 10 }],
  ['10/m', { count: 10, seconds: 60, burst: 10 }],
  ['1/h:20', { count: 1, seconds: 3600, burst: 20 }],
  ['500000/d', { count: 500_000, seconds: 86_400, burst: 500_000 }],
  ['30000/m:10000', { count: 30_000, seconds: 60, burst: 10_000 }],
  ['none', null],
])('%s is a rate limit, and written so', (text, limit) => {
  expect(rateLimit.parse(text)).toEqual(limit);
  expect(formatRateLimit(limit)).toBe(text);
});

it.each([
  ['', 'must be COUNT/UNIT'],
  ['5', 'must be COUNT/UNIT'],
  ['0/s', 'must be COUNT/UNIT'],
  ['5/s:0', 'must be COUNT/UNIT'],
  ['-1/s', 'must be COUNT/UNIT'],
  ['1.5/s', 'must be COUNT/UNIT'],
  ['5/w', 'must be COUNT/UNIT'],
  ['5/s:10 ', 'must be COUNT/UNIT'],
  ['501/s:1', 'at most 500 a second'],
  ['30001/m:1', 'at most 500 a second'],
  ['1/s:10001', 'at most 10000 or COUNT at once'],
  ['20000/d:20001', 'at most 10000 or COUNT at once'],
])('%j is none', (text, problem) => {
  expect(() => rateLimit.parse(text)).toThrow(problem);
});

it('as many open batches as a number says, or any', () => {
  expect([openBatchesLimit.parse('25'), openBatchesLimit.parse('none')]).toEqual([25, null]);
  for (const text of ['0', '', '10000', '1e3', 'all'])
    expect(() => openBatchesLimit.parse(text)).toThrow('from 1 to 9999, or none');
});

it('all limits travel as one text', () => {
  const limits: Limits = {
    reads: { count: 20, seconds: 1, burst: 40 },
    writes: null,
    sends: { count: 5, seconds: 1, burst: 10 },
    uploads: { count: 1, seconds: 3600, burst: 1 },
    batches: { count: 10, seconds: 60, burst: 10 },
    uploadedMegabytes: null,
    batchRequests: { count: 100, seconds: 86_400, burst: 10 },
    modelCalls: { count: 100_000, seconds: 86_400, burst: 100_000 },
    downloadedMegabytes: null,
    openBatches: null,
  };
  const text = formatLimits(limits);
  expect(text).toBe(
    'reads=20/s:40,writes=none,sends=5/s:10,uploads=1/h,batches=10/m,uploadedMegabytes=none,' +
      'batchRequests=100/d:10,modelCalls=100000/d,downloadedMegabytes=none,open-batches=none',
  );
  expect(parseLimits(text)).toEqual(limits);
  expect(() => parseLimits('reads=20/s:40')).toThrow();
  // From an earlier version.
  const previous = 'reads=20/s:40,writes=none,sends=5/s:10,uploads=1/h,batches=10/m,open-batches=none';
  expect(parseLimits(previous)).toEqual({ ...limits, batchRequests: null, modelCalls: null });
});
