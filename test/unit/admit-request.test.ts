import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatRateLimit, type RateLimit, rateLimit } from '#contract/rate-limits.ts';
import { admitRequest } from '#domain/workspaces/admit-request.ts';
import type { RateBucketStore } from '#domain/workspaces/rate-bucket-store.ts';

/** The table as its conditions describe it, in time that a test moves. */
function table() {
  const rows = new Map<string, number>();
  const moment = { now: 1_800_000_000_000, writes: 0, down: false };
  const write = (key: string, holds: (fullAt: number) => boolean, next: (fullAt: number) => number) => {
    moment.writes += 1;
    if (moment.down) throw new Error('The table is down');
    const fullAt = rows.get(key) ?? 0;
    const taken = holds(fullAt);
    if (taken) rows.set(key, next(fullAt));
    return { taken, fullAt: rows.get(key) ?? 0 };
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
  const clock = { now: () => new Date(moment.now), after: () => () => {}, every: () => () => {} };
  const newFunction = () => {
    const admit = admitRequest({ clock, log, rateBuckets });
    return async (limit: RateLimit, apiKeyId = 'key') =>
      admit({ workspaceId: 'ws', apiKeyId, rateClass: 'sends', limit });
  };
  return { moment, warnings, newFunction };
}

const limitOf = (text: string): RateLimit => {
  const limit = rateLimit.parse(text);
  if (limit === null) throw new Error(`${text} is no limit`);
  return limit;
};

describe('a bucket', () => {
  it('lets a burst in, then one request for each token that has come back', async () => {
    const { moment, newFunction } = table();
    const ask = newFunction();
    const limit = limitOf('5/s:10');
    for (const remaining of [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]) {
      const { bucket, refusal } = await ask(limit);
      expect({ bucket, refusal }).toEqual({
        bucket: { limit: 10, remaining, reset: Math.ceil((10 - remaining) * 0.2) },
        refusal: null,
      });
    }
    const { bucket, refusal } = await ask(limit);
    expect(bucket).toEqual({ limit: 10, remaining: 0, reset: 2 });
    expect(refusal).toMatchObject({
      kind: 'rateLimited',
      retryAfter: 1,
      message: 'Rate limit exceeded: sends are limited to 5/s:10, try again in 1 s',
    });
    moment.now += 199;
    expect((await ask(limit)).refusal).not.toBeNull();
    moment.now += 1;
    expect((await ask(limit)).refusal).toBeNull();
    expect((await ask(limit)).refusal).not.toBeNull();
    moment.now += 2000;
    expect((await ask(limit)).bucket).toMatchObject({ remaining: 9 });
  });

  it.each([
    ['1/m:2', 60],
    ['10/m', 6],
    ['1/h:1', 3600],
    ['3/s:3', 1],
    ['7/m:3', 9],
  ])('of %s tells to come back in %i s, and a client that does is let in', async (text, seconds) => {
    const { moment, newFunction } = table();
    const [ask, askElsewhere] = [newFunction(), newFunction()];
    const limit = limitOf(text);
    for (let request = 0; request < limit.burst; request += 1) expect((await ask(limit)).refusal).toBeNull();
    expect((await ask(limit)).refusal?.retryAfter).toBe(seconds);
    expect((await askElsewhere(limit)).refusal?.retryAfter).toBe(seconds);
    moment.now += seconds * 1000;
    expect((await askElsewhere(limit)).refusal).toBeNull();
  });

  it('is one for each key, and anew for another limit', async () => {
    const ask = table().newFunction();
    const limit = limitOf('1/h:1');
    expect((await ask(limit)).refusal).toBeNull();
    expect((await ask(limit)).refusal).not.toBeNull();
    expect((await ask(limit, 'another')).refusal).toBeNull();
    expect((await ask(limitOf('1/h:2'))).refusal).toBeNull();
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
          const { moment, newFunction } = table();
          const functions = [newFunction(), newFunction(), newFunction()];
          // The textbook's bucket, counted in tokens.
          const perMillisecond = limit.count / limit.seconds / 1000;
          let tokens = limit.burst;
          for (const { by, after } of requests) {
            moment.now += after;
            tokens = Math.min(limit.burst, tokens + after * perMillisecond);
            const { refusal } = (await functions[by]?.(limit)) ?? {};
            // Intervals are rounded up to microseconds; what is nearer than that may go either way.
            if (Math.abs(tokens - 1) > 1e-3) expect(refusal === null).toBe(tokens >= 1);
            if (refusal === null) tokens -= 1;
          }
        },
      ),
    );
  });
});

describe('the table', () => {
  it('is written once for a request, and not for one that is known to be refused', async () => {
    const { moment, newFunction } = table();
    const ask = newFunction();
    const limit = limitOf('1/m:3');
    for (const writes of [1, 2, 3, 3, 3]) {
      await ask(limit);
      expect(moment.writes).toBe(writes);
    }
    moment.now += 60_000;
    await ask(limit);
    expect(moment.writes).toBe(4);
  });

  it('is written twice when another function has taken a token meanwhile', async () => {
    const { moment, newFunction } = table();
    await newFunction()(limitOf('1/m:3'));
    await newFunction()(limitOf('1/m:3'));
    expect(moment.writes).toBe(1 + 2);
  });

  it('lets everybody in while it is down, and says so in the log', async () => {
    const { moment, warnings, newFunction } = table();
    const ask = newFunction();
    moment.down = true;
    for (let request = 0; request < 3; request += 1)
      expect(await ask(limitOf('1/h:1'))).toEqual({ bucket: null, refusal: null });
    expect(warnings).toEqual(Array(3).fill('A rate limit was not checked'));
    moment.down = false;
    expect((await ask(limitOf('1/h:1'))).bucket).toMatchObject({ remaining: 0 });
  });
});
