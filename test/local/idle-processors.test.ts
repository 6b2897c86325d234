import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { watchProcessors } from '#local/lambda/idle-processors.ts';

it('knows of idle processors only when asked again and again', async () => {
  const idleProcessors = watchProcessors();
  expect(idleProcessors()).toBe(0);
  await sleep(100);
  const idle = idleProcessors();
  expect(idle).toBeGreaterThanOrEqual(0);
  // Within the measuring window, the value stays the same.
  expect(idleProcessors()).toBe(idle);
  await sleep(600);
  expect(idleProcessors()).toBe(0);
});
