import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { seededRandom } from '#support/seeded-random.ts';
import { openCheckpoint } from './fixture/open-checkpoint.ts';
import { startFixture } from './fixture/start-fixture.ts';

const run = closeAfterTests(await startFixture({ maxConcurrency: 3 }));

const invocations = async () =>
  ((await (await run.act({ do: 'count' })).json()) as { invocations: number }).invocations;
const threadsOf = (name: string) =>
  run.workers().filter(({ functionName }) => new RegExp(`-${name}[0-9A-F]{8}$`).test(functionName));
const actThreads = () => threadsOf('Act');
/** A call of a function that has 25 s, within which even a busy machine starts three threads. */
const patient = (query: Record<string, string>) => run.fetch(`patient?${new URLSearchParams(query)}`);

describe('a function that', () => {
  it('throws is a 502 that tells nothing, and keeps its thread', async () => {
    const before = await invocations();
    const response = await run.act({ do: 'throw' });
    expect(response.status).toBe(502);
    expect(await response.text()).toBe('{"failed":"Internal server error"}');
    expect(await invocations()).toBe(before + 2);
  });

  it.each(['crash', 'exit'])('ends its process by %s is a 502 and begins anew', async (how) => {
    await invocations();
    expect((await run.act({ do: how })).status).toBe(502);
    expect(await invocations()).toBe(1);
  });

  it.each(['hang', 'spin'])('takes longer than it may is stopped: %s', async (how) => {
    const started = performance.now();
    const response = await run.act({ do: how });
    expect(response.status).toBe(502);
    expect(performance.now() - started).toBeGreaterThan(1900);
    expect(await invocations()).toBe(1);
  });

  it('is killed while busy fails its caller, and the next call gets a new thread', async () => {
    const hanging = run.act({ do: 'hang' });
    await vi.waitFor(() => expect(actThreads().some(({ busy }) => busy)).toBe(true), 60_000);
    expect(run.killWorkers('Act')).toBeGreaterThan(0);
    expect((await hanging).status).toBe(502);
    expect(actThreads()).toEqual([]);
    expect(await invocations()).toBe(1);
  });

  it('holds more memory than it has is stopped', async () => {
    expect((await run.act({ do: 'hold-memory', bytes: String(100 * 1024 * 1024) })).status).toBe(200);
    expect((await run.act({ do: 'hold-memory', bytes: String(400 * 1024 * 1024) })).status).toBe(502);
    expect(run.violations()).toContainEqual(expect.stringMatching(/Act.* held [45]\d\d MB of 256 MB/));
  });

  it('writes to its outputs is heard line by line', async () => {
    await run.act({ do: 'log' });
    await vi.waitFor(
      () =>
        expect(run.logs.map(({ line }) => line)).toEqual(expect.arrayContaining(['to stdout', 'to stderr'])),
      60_000,
    );
    expect(run.logs.find(({ line }) => line === 'to stdout')?.functionName).toMatch(/^Fixture-Act/);
  });
});

describe('threads', () => {
  it('grow with overlapping calls up to the limit, and further calls wait their turn', async () => {
    const checkpoint = await openCheckpoint();
    const calls = ['a', 'b', 'c', 'd', 'e'].map((name) =>
      patient({ do: 'call', url: `${checkpoint.url}/${name}` }),
    );
    const reached = () => ['a', 'b', 'c', 'd', 'e'].filter((name) => checkpoint.hasReached(name)).length;
    await vi.waitFor(() => expect(reached()).toBe(3), 60_000);
    expect(threadsOf('Patient').map(({ busy }) => busy)).toEqual([true, true, true]);
    for (const name of ['a', 'b', 'c', 'd', 'e']) checkpoint.release(name);
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(threadsOf('Patient')).toHaveLength(3);
    await checkpoint.close();

    // Sequential calls always use the thread that was used last, because it is the warmest.
    const count = async () =>
      ((await (await patient({ do: 'count' })).json()) as { invocations: number }).invocations;
    const first = await count();
    for (const more of [1, 2, 3, 4, 5, 6]) expect(await count()).toBe(first + more);
  });

  it('hold one call at a time, however calls come, end and are killed', async () => {
    const seed = Date.now();
    const random = seededRandom(seed);
    let killing = 0;
    const call = async (): Promise<unknown> => {
      await sleep(random() * 20);
      const response = await run.act({ do: 'wait', milliseconds: String(random() * 60) });
      return response.status === 502 ? 'killed' : ((await response.json()) as { others: number }).others;
    };
    const outcomes: unknown[] = [];
    // In each round some threads are idle. In every fifth round, the threads are killed.
    for (let round = 1; round <= 20; round += 1) {
      const calls = Array.from({ length: Math.ceil(random() * 6) }, call);
      if (round % 5 === 0) {
        await sleep(25);
        killing += run.killWorkers('Act');
      }
      outcomes.push(...(await Promise.all(calls)));
    }
    const context = `seed ${seed}`;
    expect(
      outcomes.filter((others) => others !== 0 && others !== 'killed'),
      context,
    ).toEqual([]);
    expect(outcomes.filter((others) => others === 'killed').length, context).toBeLessThanOrEqual(killing);
    expect(actThreads().length, context).toBeLessThanOrEqual(3);
  });
});

describe('a network call', () => {
  it('during an invocation is no violation', async () => {
    const before = run.violations().length;
    const checkpoint = await openCheckpoint();
    checkpoint.release('x');
    expect((await run.act({ do: 'call', url: `${checkpoint.url}/x` })).status).toBe(200);
    expect(run.violations()).toHaveLength(before);
    await checkpoint.close();
  });

  it('that begins after the handler has resolved is one', async () => {
    const checkpoint = await openCheckpoint();
    checkpoint.release('late');
    expect((await run.act({ do: 'call-late', url: `${checkpoint.url}/late` })).status).toBe(200);
    await vi.waitFor(
      () =>
        expect(run.violations()).toContainEqual(
          expect.stringMatching(/^Fixture-Act\w+: GET http:.*\/late began after the handler had resolved$/),
        ),
      60_000,
    );
    await checkpoint.close();
  });
});
