import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { expect, it, onTestFinished } from 'vitest';
import { createLoadGauge } from '#local/lambda/load-gauge.ts';

async function startWorker(body: string): Promise<Worker> {
  const worker = new Worker(`require('node:worker_threads').parentPort.postMessage('begun'); ${body}`, {
    eval: true,
  });
  onTestFinished(() => void worker.terminate());
  await new Promise((resolve) => worker.once('message', resolve));
  return worker;
}

it('counts threads that compute, and none that wait or are forgotten', async () => {
  const gauge = createLoadGauge();
  const [computing, waiting] = await Promise.all([
    startWorker('for (;;);'),
    startWorker('setInterval(() => {}, 1000);'),
  ]);
  for (const worker of [computing, waiting]) gauge.watch(worker);
  await sleep(300);
  expect(gauge.load()).toBeGreaterThan(0.9);
  expect(gauge.load()).toBeLessThan(1.9);
  gauge.forget(computing);
  await sleep(300);
  expect(gauge.load()).toBeLessThan(0.9);
});

it('counts what is expected until it looks again', async () => {
  const gauge = createLoadGauge();
  await sleep(50);
  const seen = gauge.load();
  gauge.expect(5);
  expect(gauge.load()).toBe(seen + 5);
  await sleep(50);
  expect(gauge.load()).toBeLessThan(5);
});

it('keeps what is expected over a look that has hardly seen it', () => {
  const gauge = createLoadGauge();
  const from = performance.now();
  while (performance.now() < from + 24);
  const started = performance.now();
  gauge.expect(5);
  while (performance.now() < from + 27);
  const known = gauge.load();
  const seen = (performance.now() - started) / (performance.now() - from);
  expect(known).toBeGreaterThan(5 * (1 - seen) - 0.1);
});

it('knows of idle processors only when asked again and again', async () => {
  const gauge = createLoadGauge();
  expect(gauge.idleProcessors()).toBe(0);
  await sleep(100);
  const idle = gauge.idleProcessors();
  expect(idle).toBeGreaterThanOrEqual(0);
  // Within the measuring window, the value stays the same.
  expect(gauge.idleProcessors()).toBe(idle);
  await sleep(600);
  expect(gauge.idleProcessors()).toBe(0);
});
