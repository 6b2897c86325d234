import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dynamoRateBucketStore } from '#adapters/dynamo/workspaces/request-store.ts';
import {
  formatLimits,
  formatRateLimit,
  type Limits,
  openBatchesLimit,
  parseLimits,
  type RateLimit,
  rateLimit,
} from '#contract/rate-limits.ts';
import { openRateLimits, type RateBucketStore } from '#domain/workspaces/rate-limits.ts';
import { openMemoryTable } from '#support/memory-table/open-memory-table.ts';

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

const none = parseLimits('reads=none,writes=none,sends=none,uploads=none,batches=none,open-batches=none');

/** Rate limits on a table in memory, with a clock that the test moves. */
function table() {
  const time = { now: 1_800_000_000_000, writes: 0, down: false, expiresAt: 0 };
  const memory = dynamoRateBucketStore(openMemoryTable());
  const rateBuckets: RateBucketStore = {
    async take(...input) {
      time.writes += 1;
      time.expiresAt = input[2].expiresAt;
      if (time.down) throw new Error('The table is down');
      return memory.take(...input);
    },
  };
  const warnings: string[] = [];
  const log = { info: () => {}, warn: (text: string) => void warnings.push(text), error: () => {} };
  const clock = { now: () => new Date(time.now), after: () => () => {}, every: () => () => {} };
  const newProcess = () => openRateLimits({ clock, log, rateBuckets });
  const newFunction = () => {
    const limits = newProcess();
    return async (sends: RateLimit) =>
      limits.take({ workspaceId: 'ws', apiKeyId: 'key', limits: { ...none, sends } }, { sends: 1 });
  };
  return { time, warnings, newFunction, newProcess };
}

const limitOf = (text: string): RateLimit => {
  const limit = rateLimit.parse(text);
  if (limit === null) throw new Error(`${text} is no limit`);
  return limit;
};

describe('a bucket', () => {
  it('lets a burst in, then one request for each token that has come back', async () => {
    const { time, newFunction } = table();
    const send = newFunction();
    const limit = limitOf('5/s:10');
    for (const remaining of [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]) {
      const { bucket, rejection } = await send(limit);
      expect({ bucket, rejection }).toEqual({
        bucket: { limit: 10, remaining, reset: Math.ceil((10 - remaining) * 0.2) },
        rejection: null,
      });
    }
    const { bucket, rejection } = await send(limit);
    expect(bucket).toEqual({ limit: 10, remaining: 0, reset: 2 });
    expect(rejection).toMatchObject({
      kind: 'rateLimited',
      retryAfter: 1,
      message: 'Rate limit exceeded: sends are limited to 5/s:10, try again in 1 s',
    });
    time.now += 199;
    expect((await send(limit)).rejection).not.toBeNull();
    time.now += 1;
    expect((await send(limit)).rejection).toBeNull();
    expect((await send(limit)).rejection).not.toBeNull();
    time.now += 2000;
    expect((await send(limit)).bucket).toMatchObject({ remaining: 9 });
  });

  it.each([
    ['1/m:2', 60],
    ['10/m', 6],
    ['1/h:1', 3600],
    ['3/s:3', 1],
    ['7/m:3', 9],
  ])('of %s tells to come back in %i s, and a client that does is let in', async (text, seconds) => {
    const { time, newFunction } = table();
    const [send, checkElsewhere] = [newFunction(), newFunction()];
    const limit = limitOf(text);
    for (let request = 0; request < limit.burst; request += 1)
      expect((await send(limit)).rejection).toBeNull();
    expect((await send(limit)).rejection?.retryAfter).toBe(seconds);
    expect((await checkElsewhere(limit)).rejection?.retryAfter).toBe(seconds);
    time.now += seconds * 1000;
    expect((await checkElsewhere(limit)).rejection).toBeNull();
  });

  it('lets exactly its tokens out, however many functions ask and however time passes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          count: fc.integer({ min: 1, max: 50 }),
          seconds: fc.constantFrom(1, 60),
          burst: fc.integer({ min: 1, max: 20 }),
        }),
        fc.array(
          fc.record({ by: fc.integer({ min: 0, max: 2 }), after: fc.integer({ min: 0, max: 3000 }) }),
          {
            maxLength: 60,
          },
        ),
        async (limit, requests) => {
          const { time, newFunction } = table();
          const functions = [newFunction(), newFunction(), newFunction()];
          // A textbook token bucket to compare with.
          const perMillisecond = limit.count / limit.seconds / 1000;
          let tokens = limit.burst;
          for (const { by, after } of requests) {
            time.now += after;
            tokens = Math.min(limit.burst, tokens + after * perMillisecond);
            const { rejection } = (await functions[by]?.(limit)) ?? {};
            // Intervals are rounded up to microseconds, so near the limit both results are right.
            if (Math.abs(tokens - 1) > 1e-3) expect(rejection === null).toBe(tokens >= 1);
            if (rejection === null) tokens -= 1;
          }
        },
      ),
    );
  });
});

describe('what requests use', () => {
  const owner = {
    ...{ workspaceId: 'ws', apiKeyId: 'key' },
    limits: {
      ...none,
      sends: limitOf('100/s'),
      modelCalls: limitOf('24/d:10'),
      batchRequests: limitOf('5/d'),
    },
  };
  /** An hour brings a call back. */
  const hour = 3_600_000;

  it('is stored until it is paid, also by a write of other classes', async () => {
    const { time, newProcess } = table();
    const limits = newProcess();
    limits.charge(owner, { modelCalls: 100 });
    await limits.writeCharges(owner);
    await limits.take(owner, { sends: 1 });
    expect(time.writes).toBe(2);
    expect(time.expiresAt).toBeGreaterThanOrEqual(time.now + 100 * hour);
  });

  it('is paid by the next request, in the same write', async () => {
    const { time, newProcess } = table();
    const limits = newProcess();
    const send = () => limits.take(owner, { sends: 1, modelCalls: 1 });
    expect((await send()).rejection).toBeNull();
    limits.charge(owner, { modelCalls: 8 });
    expect((await send()).rejection).toBeNull();
    expect(time.writes).toBe(2);
    const { rejection, bucket } = await send();
    expect(rejection?.message).toBe(
      'Rate limit exceeded: model calls are limited to 24/d:10, try again in 3600 s',
    );
    expect(bucket).toEqual({ limit: 10, remaining: 0, reset: 36_000 });
    expect(time.writes).toBe(2);
    // Another process finds it in the table.
    expect((await newProcess().take(owner, { sends: 1, modelCalls: 1 })).rejection?.retryAfter).toBe(3600);
    // A request that uses none of it is allowed.
    expect((await limits.take(owner, { sends: 1 })).rejection).toBeNull();
    time.now += hour - 1;
    expect((await send()).rejection).not.toBeNull();
    time.now += 1;
    expect((await send()).rejection).toBeNull();
  });

  it('may be more than a full bucket, and is refilled while nobody writes it', async () => {
    const { time, newProcess } = table();
    const limits = newProcess();
    const send = () => limits.take(owner, { sends: 1, modelCalls: 1 });
    await send();
    limits.charge(owner, { modelCalls: 14 });
    expect((await send()).rejection?.retryAfter).toBe((15 - 9) * 3600);
    time.now += 6 * hour;
    const { rejection } = await send();
    expect(rejection).toBeNull();
    expect((await send()).rejection?.retryAfter).toBe(3600);
    time.now += 100 * hour;
    for (let call = 0; call < 10; call += 1) expect((await send()).rejection).toBeNull();
    expect((await send()).rejection?.retryAfter).toBe(3600);
  });

  it('stays charged while the table is down, when all requests are let in with a warning', async () => {
    const { time, warnings, newProcess } = table();
    const limits = newProcess();
    limits.charge(owner, { modelCalls: 9 });
    time.down = true;
    expect(await limits.take(owner, { sends: 1, modelCalls: 1 })).toEqual({ bucket: null, rejection: null });
    expect(warnings).toEqual(['A rate limit was not checked']);
    time.down = false;
    expect((await limits.take(owner, { sends: 1, modelCalls: 1 })).rejection).toBeNull();
    expect((await limits.take(owner, { sends: 1, modelCalls: 1 })).rejection).not.toBeNull();
  });

  it('is written at once where nothing else is taken', async () => {
    const { time, newProcess } = table();
    const worker = newProcess();
    worker.charge(owner, { modelCalls: 10 });
    await worker.writeCharges(owner);
    await worker.writeCharges(owner);
    expect(time.writes).toBe(1);
    expect((await newProcess().take(owner, { sends: 1, modelCalls: 1 })).rejection?.retryAfter).toBe(3600);
  });
});

it('the table is written twice when another function has taken a token meanwhile', async () => {
  const { time, newFunction } = table();
  await newFunction()(limitOf('1/m:3'));
  await newFunction()(limitOf('1/m:3'));
  expect(time.writes).toBe(1 + 2);
});
