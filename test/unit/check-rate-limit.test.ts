import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatRateLimit, type RateLimit, rateLimit } from '#contract/rate-limits.ts';
import { checkRateLimit } from '#domain/workspaces/check-rate-limit.ts';
import type { RateBucketStore } from '#domain/workspaces/rate-bucket-store.ts';

/** A model of the table and its conditional writes, with a clock that the test moves. */
function table() {
  const items = new Map<string, number>();
  const time = { now: 1_800_000_000_000, writes: 0, down: false };
  const write = (key: string, isAllowed: (fullAt: number) => boolean, next: (fullAt: number) => number) => {
    time.writes += 1;
    if (time.down) throw new Error('The table is down');
    const fullAt = items.get(key) ?? 0;
    const taken = isAllowed(fullAt);
    if (taken) items.set(key, next(fullAt));
    return { taken, fullAt: items.get(key) ?? 0 };
  };
  const rateBuckets: RateBucketStore = {
    takeFirst: async ({ apiKeyId, limit }, { now, interval }) =>
      write(
        `${apiKeyId} ${formatRateLimit(limit)}`,
        (fullAt) => fullAt <= now,
        () => now + interval,
      ),
    takeNext: async ({ apiKeyId, limit }, { now, interval, latest }) =>
      write(
        `${apiKeyId} ${formatRateLimit(limit)}`,
        (fullAt) => fullAt > now && fullAt <= latest,
        (fullAt) => fullAt + interval,
      ),
  };
  const warnings: string[] = [];
  const log = { info: () => {}, warn: (text: string) => void warnings.push(text), error: () => {} };
  const clock = { now: () => new Date(time.now), after: () => () => {}, every: () => () => {} };
  const newFunction = () => {
    const checkLimit = checkRateLimit({ clock, log, rateBuckets });
    return async (limit: RateLimit, apiKeyId = 'key') =>
      checkLimit({ workspaceId: 'ws', apiKeyId, rateClass: 'sends', limit });
  };
  return { time, warnings, newFunction };
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

  it('is one for each key, and anew for another limit', async () => {
    const send = table().newFunction();
    const limit = limitOf('1/h:1');
    expect((await send(limit)).rejection).toBeNull();
    expect((await send(limit)).rejection).not.toBeNull();
    expect((await send(limit, 'another')).rejection).toBeNull();
    expect((await send(limitOf('1/h:2'))).rejection).toBeNull();
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

describe('the table', () => {
  it('is written once for a request, and not for one that is known to be refused', async () => {
    const { time, newFunction } = table();
    const send = newFunction();
    const limit = limitOf('1/m:3');
    for (const writes of [1, 2, 3, 3, 3]) {
      await send(limit);
      expect(time.writes).toBe(writes);
    }
    time.now += 60_000;
    await send(limit);
    expect(time.writes).toBe(4);
  });

  it('is written twice when another function has taken a token meanwhile', async () => {
    const { time, newFunction } = table();
    await newFunction()(limitOf('1/m:3'));
    await newFunction()(limitOf('1/m:3'));
    expect(time.writes).toBe(1 + 2);
  });

  it('lets everybody in while it is down, and says so in the log', async () => {
    const { time, warnings, newFunction } = table();
    const send = newFunction();
    time.down = true;
    for (let request = 0; request < 3; request += 1)
      expect(await send(limitOf('1/h:1'))).toEqual({ bucket: null, rejection: null });
    expect(warnings).toEqual(Array(3).fill('A rate limit was not checked'));
    time.down = false;
    expect((await send(limitOf('1/h:1'))).bucket).toMatchObject({ remaining: 0 });
  });
});
