import { beforeEach, expect, it } from 'vitest';
import { fairAdmission } from '#runtime/http/fair-admission.ts';

let now: number;
let admission: ReturnType<typeof fairAdmission>;
beforeEach(() => {
  now = 0;
  admission = fairAdmission(() => now);
});

/** The next sample comes this much later than it should. */
function sampleWithLag(lag: number): void {
  now += 50 + lag;
  admission.sample();
}
const accept = (workspaceId: string, count = 1) =>
  Array.from({ length: count }, () => admission.accept(workspaceId));
const rejection = { kind: 'rateLimited', status: 429, retryAfter: 1 };

it('rejects the workspace with most requests while timers fire more than 200 ms late', () => {
  accept('large', 11);
  accept('small');
  sampleWithLag(200);
  accept('large');
  sampleWithLag(201);
  expect(() => accept('large')).toThrow(expect.objectContaining(rejection));
  accept('small');
  accept('new');
});

it('accepts all again a second after the last delay', () => {
  accept('large', 11);
  accept('small');
  sampleWithLag(1000);
  now += 999;
  expect(() => accept('large')).toThrow();
  now += 1;
  accept('large');
});

it('never rejects a workspace alone, one with fewer than ten requests, or one of two that have as many', () => {
  sampleWithLag(1000);
  const alone = accept('alone', 200);
  for (const release of alone) release();
  accept('first', 10);
  accept('second', 10);
  accept('first');
  accept('second');
  expect(() => admission.accept('third')).not.toThrow();
  accept('third', 8);
});

it('counts a request until it is released', () => {
  const [release] = accept('large', 11);
  const [other] = accept('small');
  sampleWithLag(1000);
  expect(() => accept('large')).toThrow();
  release?.();
  expect(() => accept('large')).toThrow();
  other?.();
  accept('large');
});
