import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { log } from '#runtime/observability/log.ts';
import { logTrace } from '#runtime/observability/trace.ts';

const logged = vi.fn();
let second = 1000;
beforeEach(() => {
  vi.spyOn(log, 'info').mockImplementation(logged);
  vi.spyOn(Math, 'random').mockReturnValue(0.05);
  logged.mockClear();
  second += 10;
});
afterEach(() => vi.restoreAllMocks());

const trace = (outcome: 'ok' | 'error' | 'fault', at: number) =>
  logTrace({ name: 'send-message', start: at * 1000 - 500, end: at * 1000, outcome }, [
    { name: 'reply', start: at * 1000 - 400, end: at * 1000 - 100, outcome: 'ok' },
  ]);

it('tells the parts of the first invocation in a second, and of every fault', () => {
  for (const outcome of ['ok', 'error', 'fault', 'fault'] as const) trace(outcome, second);
  trace('error', second + 1);
  expect(logged.mock.calls.map(([, { outcome }]) => outcome)).toEqual(['ok', 'fault', 'fault', 'error']);
  expect(logged.mock.calls[0]).toEqual([
    'Trace',
    {
      outcome: 'ok',
      milliseconds: 500,
      parts: [{ name: 'reply', after: 100, milliseconds: 300, outcome: 'ok' }],
    },
  ]);
});

it('tells those of one in twenty others', () => {
  trace('ok', second);
  vi.mocked(Math.random).mockReturnValue(0.049);
  trace('ok', second);
  expect(logged).toHaveBeenCalledTimes(2);
});
