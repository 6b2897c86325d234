import { describe, expect, it } from 'vitest';
import { retryAfterSeconds, retryDelay } from '../../bin/agentctl/retry-delay.ts';

describe('the delay before a request is made again', () => {
  it('doubles from one second to a minute', () => {
    const least = Array.from({ length: 9 }, (_, index) => retryDelay(index + 1, undefined, () => 0) / 1.1);
    expect(least.map(Math.round)).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
  });

  it('has 10 to 25 percent of jitter', () => {
    expect(retryDelay(3, undefined, () => 0)).toBeCloseTo(4.4);
    expect(retryDelay(3, undefined, () => 1)).toBeCloseTo(5);
    expect(new Set(Array.from({ length: 100 }, () => retryDelay(1))).size).toBeGreaterThan(50);
  });

  it('is never shorter than the service asks, and never nothing', () => {
    expect(retryDelay(1, 90, () => 0)).toBeCloseTo(99);
    expect(retryDelay(6, 2, () => 0)).toBeCloseTo(2.2);
    expect(retryDelay(1, 0, () => 0)).toBeCloseTo(1.1);
  });
});

describe('Retry-After', () => {
  const read = (value?: string) =>
    retryAfterSeconds(new Headers(value === undefined ? {} : { 'Retry-After': value }));

  it('is read as seconds and as a date', () => {
    expect(read('7')).toBe(7);
    expect(read(new Date(Date.now() + 60_000).toUTCString())).toBeGreaterThan(58);
    expect(read(new Date(Date.now() - 60_000).toUTCString())).toBe(0);
  });

  it('counts for nothing when it is absent or says nothing', () => {
    expect(read()).toBeUndefined();
    expect(read('soon')).toBeUndefined();
  });
});
