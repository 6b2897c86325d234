import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, expect, it, vi } from 'vitest';
import { processClock } from '#runtime/environment/invocation-context.ts';
import { variables } from '#runtime/environment/variables.ts';
import {
  annotateInvocation,
  endInvocation,
  measurements,
  runInvocation,
} from '#runtime/observability/invocation.ts';
import { log } from '#runtime/observability/log.ts';

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

/** The lines of JSON that the functions' log gets, as long as the test runs. */
function captureLog(): Record<string, unknown>[] {
  const lines: Record<string, unknown>[] = [];
  const add = (text: unknown) => {
    for (const line of String(text).split('\n')) if (line.startsWith('{')) lines.push(JSON.parse(line));
    return true;
  };
  vi.spyOn(process.stdout, 'write').mockImplementation(add);
  vi.spyOn(console, 'log').mockImplementation(add);
  vi.spyOn(console, 'info').mockImplementation(add);
  return lines;
}

it('keeps the log lines and metrics of concurrent invocations apart', async () => {
  vi.stubEnv(variables.metricsNamespace, 'Test');
  const lines = captureLog();
  const indexes = Array.from({ length: 64 }, (_, index) => index);
  await Promise.all(
    indexes.map((index) =>
      runInvocation({ properties: { request_id: `request-${index}` } }, async () => {
        // The invocations go on in another order at each step.
        for (let count = 0; count < (index * 7) % 5; count += 1) await turn();
        annotateInvocation({ chat_id: `chat-${index}` });
        await turn();
        log.info('Line', { index });
        measurements.add('timeToFirstDelta', index, { route: 'send-message' });
        for (let count = 0; count < (index * 3) % 4; count += 1) await turn();
        await endInvocation();
      }),
    ),
  );
  const idsOf = (index: number) => ({ request_id: `request-${index}`, chat_id: `chat-${index}` });
  const logged = lines.filter(({ message }) => message === 'Line');
  expect(logged).toHaveLength(indexes.length);
  for (const line of logged) expect(line).toMatchObject(idsOf(Number(line.index)));
  const metrics = lines.filter((line) => '_aws' in line);
  expect(metrics).toHaveLength(indexes.length);
  for (const line of metrics) expect(line).toMatchObject(idsOf(Number(line.TimeToFirstDelta)));
});

it('does not give the ids of an invocation to work of the process that it has started', async () => {
  const lines = captureLog();
  const logged = Promise.withResolvers<void>();
  let cancel = () => {};
  await runInvocation({ properties: { request_id: 'request-1' } }, async () => {
    cancel = processClock.every(1, () => {
      log.info('Line');
      logged.resolve();
    });
  });
  await logged.promise;
  cancel();
  expect(lines[0]).not.toHaveProperty('request_id');
});
