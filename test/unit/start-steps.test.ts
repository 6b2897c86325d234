import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { startSteps } from '../../bin/local/start-steps.ts';

function openSteps(isTTY: boolean) {
  vi.useFakeTimers();
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const written: string[] = [];
  const write = (text: string): boolean => written.push(text) > 0;
  return { steps: startSteps({ isTTY, write }), written };
}

describe('the steps of a start', () => {
  it('have a line each, and on a terminal seconds that go on', () => {
    const { steps, written } = openSteps(true);
    steps.start('Synthesizing');
    vi.advanceTimersByTime(2500);
    steps.start('Ready');
    steps.end();
    vi.advanceTimersByTime(5000);
    steps.end();
    expect(written).toEqual([
      ...['[0.0 s] Synthesizing', '\r[1.0 s] Synthesizing', '\r[2.0 s] Synthesizing', '\n'],
      ...['[2.5 s] Ready', '\n'],
    ]);
  });

  it('are lines alone in a file', () => {
    const { steps, written } = openSteps(false);
    steps.start('Synthesizing');
    vi.advanceTimersByTime(2500);
    steps.start('Ready');
    steps.end();
    expect(written).toEqual(['[0.0 s] Synthesizing\n', '[2.5 s] Ready\n']);
  });
});
