import type { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { describe, expect, it, vi } from 'vitest';
import { attachmentReader } from '#adapters/attachment-reader.ts';
import type { Pool } from '#contract/limits.ts';
import type { FileStore, PreparedAttachments, StoredFile } from '#domain/files/files.ts';
import { Shares, type SlotReport } from '#domain/platform/shares.ts';
import { manualClock, watchEnd } from '#support/manual-clock.ts';
import { seededRandom } from '#support/seeded-random.ts';

const rejection = expect.objectContaining({ kind: 'rateLimited', status: 429, retryAfter: 1 });

/** Processes that share nothing but the reports. */
function stage(sizes: Partial<Record<Pool, number>>) {
  const clock = manualClock();
  const stored = new Map<string, SlotReport>();
  const warnings: string[] = [];
  const writes = new Map<string, number>();
  const killed = new Set<string>();
  let fails = false;
  const world = {
    clock,
    stored,
    warnings,
    writes,
    failReports(failing: boolean) {
      fails = failing;
    },
    /** It reports nothing any more. */
    kill: (process: string) => void killed.add(process),
    /** Milliseconds that a call takes. */
    latency: () => 0,
    start(process: string): Shares {
      const wait = () => new Promise<void>((resolve) => clock.after(world.latency(), resolve));
      return new Shares(
        {
          clock,
          log: { warn: (message: string) => void warnings.push(message) } as never,
          reports: {
            async put(report) {
              writes.set(process, (writes.get(process) ?? 0) + 1);
              if (world.latency() > 0) await wait();
              if (fails) throw new Error('The table is not there');
              if (!killed.has(process)) stored.set(process, structuredClone(report));
            },
            async all() {
              if (world.latency() > 0) await wait();
              return structuredClone([...stored.values()]);
            },
          },
        },
        process,
        (pool) => sizes[pool] ?? Number.POSITIVE_INFINITY,
      );
    },
  };
  return world;
}

const takeMany = (one: Shares, pool: Pool, workspaceId: string, count: number) =>
  Array.from({ length: count }, () => one.take(pool, workspaceId));

/** Takes slots until it is rejected. @returns how many */
function takeAll(one: Shares, pool: Pool, workspaceId: string): number {
  for (let taken = 0; taken < 10_000; taken += 1)
    try {
      one.take(pool, workspaceId);
    } catch (error) {
      expect(error).toEqual(rejection);
      return taken;
    }
  throw new Error('It is never rejected');
}

describe('one process', () => {
  it.each([
    [1, [1]],
    [2, [1]],
    [64, [32, 16]],
    [100, [50, 25, 13, 6]],
  ])('of %i slots gives each next workspace as many as are free then', (size, expected) => {
    const process = stage({ replies: size }).start('one');
    expect(expected.map((_, index) => takeAll(process, 'replies', `ws_${index}`))).toEqual(expected);
  });

  it('gives to a workspace without a slot one, also beyond the pool', () => {
    const process = stage({ uploads: 2 }).start('one');
    for (const workspaceId of ['ws_1', 'ws_2', 'ws_3']) process.take('uploads', workspaceId);
    expect(() => process.take('uploads', 'ws_3')).toThrow(rejection);
  });

  it('has a slot again once when it is given back, however often that is said', () => {
    const process = stage({ replies: 4 }).start('one');
    const [leave] = takeMany(process, 'replies', 'ws', 2);
    expect(() => process.take('replies', 'ws')).toThrow(rejection);
    leave?.();
    leave?.();
    process.take('replies', 'ws');
    expect(() => process.take('replies', 'ws')).toThrow(rejection);
  });
});

describe('the stage', () => {
  it('costs nothing below 16 slots in a process, and from then on one small item in 5 s', async () => {
    const world = stage({ replies: 6400, preparations: 50 });
    const process = world.start('a'.repeat(36));
    const few = takeMany(process, 'replies', 'ws', 15);
    await world.clock.advance(60_000);
    expect(world.writes.size).toBe(0);
    for (let workspace = 0; workspace < 60; workspace += 1)
      for (const pool of ['replies', 'preparations'] as const)
        few.push(process.take(pool, `ws_${String(workspace).padStart(17, '0')}`));
    await world.clock.advance(60_000);
    expect(world.writes.get('a'.repeat(36))).toBe(1 + 60 / 5);
    const [report] = world.stored.values();
    // What an item has beside its JSON: names of attributes, the key and the time.
    expect(JSON.stringify(report).length).toBeLessThan(900);
    expect(Object.values(report?.slots.replies ?? {}).reduce((sum, count) => sum + count)).toBe(75);
    for (const leave of few.slice(15)) leave();
    // One report more says that there is little to report.
    await world.clock.advance(60_000);
    expect(world.writes.get('a'.repeat(36))).toBe(2 + 60 / 5);
    expect([...world.stored.values()][0]?.slots).toEqual({});
  });

  it('forgets a process that was killed after 30 s', async () => {
    const world = stage({ replies: 100 });
    const killed = world.start('killed');
    takeMany(killed, 'replies', 'busy', 50);
    await world.clock.advance(0);
    const other = world.start('other');
    takeMany(other, 'replies', 'neighbour', 16);
    await world.clock.advance(0);
    world.kill('killed');
    await world.clock.advance(25_000);
    expect(() => other.take('replies', 'busy')).toThrow(rejection);
    await world.clock.advance(10_000);
    other.take('replies', 'busy');
  });

  it('forgets what it knew of the others 30 s after it has stopped to ask', async () => {
    const world = stage({ replies: 100 });
    const [one, other] = [world.start('one'), world.start('other')];
    const ends = takeMany(one, 'replies', 'busy', 50);
    await world.clock.advance(0);
    const few = takeMany(other, 'replies', 'neighbour', 16);
    await world.clock.advance(5000);
    for (const end of few) end();
    await world.clock.advance(10_000);
    expect(() => other.take('replies', 'busy')).toThrow(rejection);
    for (const end of ends) end();
    await world.clock.advance(30_000);
    other.take('replies', 'busy');
  });

  it('keeps what it knows while the table fails, and as long as that is valid', async () => {
    const world = stage({ replies: 100 });
    takeMany(world.start('one'), 'replies', 'busy', 50);
    await world.clock.advance(0);
    const other = world.start('other');
    takeMany(other, 'replies', 'neighbour', 16);
    await world.clock.advance(0);
    world.failReports(true);
    await world.clock.advance(20_000);
    expect(world.warnings.length).toBeGreaterThan(0);
    expect(() => other.take('replies', 'busy')).toThrow(rejection);
    await world.clock.advance(20_000);
    other.take('replies', 'busy');
  });
});

describe('those who wait', () => {
  const never = new AbortController().signal;
  /** A stage where a workspace has half of the slots, all in one of two processes. */
  async function busyStage() {
    const world = stage({ preparations: 40 });
    const [one, other] = [world.start('one'), world.start('other')];
    const ends = await Promise.all(Array.from({ length: 20 }, () => one.wait('preparations', 'busy', never)));
    await world.clock.advance(0);
    return { world, other, ends };
  }

  it('take turns by workspace', async () => {
    const process = stage({ preparations: 2 }).start('one');
    const order: string[] = [];
    const leave = await process.wait('preparations', 'busy', never);
    const waiting = ['busy', 'busy', 'busy', 'other', 'other'].map(async (workspaceId) => {
      const end = await process.wait('preparations', workspaceId, never);
      order.push(workspaceId);
      await Promise.resolve();
      end();
    });
    leave();
    await Promise.all(waiting);
    expect(order.slice(0, 2).toSorted()).toEqual(['busy', 'other']);
    expect(order).toHaveLength(5);
  });

  it('leave the queue when their request ends', async () => {
    const process = stage({ preparations: 2 }).start('one');
    const leave = await process.wait('preparations', 'busy', never);
    const stop = new AbortController();
    const given = process.wait('preparations', 'busy', stop.signal);
    const next = process.wait('preparations', 'busy', never);
    stop.abort(new Error('The reply has ended'));
    await expect(given).rejects.toThrow('The reply has ended');
    leave();
    (await next)();
    await expect(process.wait('preparations', 'busy', stop.signal)).rejects.toThrow('The reply has ended');
  });

  it('go on when another process has fewer slots', async () => {
    const { world, other, ends } = await busyStage();
    for (let count = 0; count < 16; count += 1) await other.wait('preparations', 'neighbour', never);
    await world.clock.advance(0);
    const entry = watchEnd(other.wait('preparations', 'busy', never));
    await world.clock.advance(10_000);
    expect(entry.isReached).toBe(false);
    for (const end of ends) end();
    await world.clock.advance(10_000);
    expect(entry.isReached).toBe(true);
  });

  it('go on also in a process with few slots', async () => {
    const { world, other, ends } = await busyStage();
    const own = await Promise.all(
      Array.from({ length: 16 }, () => other.wait('preparations', 'neighbour', never)),
    );
    await world.clock.advance(5000);
    for (const end of own) end();
    await world.clock.advance(5000);
    const entry = watchEnd(other.wait('preparations', 'busy', never));
    for (const end of ends) end();
    await world.clock.advance(10_000);
    expect(entry.isReached).toBe(true);
  });
});

it('a workspace whose files are prepared leaves room for those of others', async () => {
  const shares = stage({ preparations: 2 }).start('one');
  const invoked: string[] = [];
  const ends: (() => void)[] = [];
  const send = ({ input }: InvokeCommand) => {
    invoked.push(JSON.parse(String(input.Payload)).workspaceId);
    return new Promise((resolve) => ends.push(() => resolve({})));
  };
  const content = { type: 'unreadable', reason: 'is empty' };
  const reader = attachmentReader(
    {
      ...{ clock: manualClock(), shares, files: { readAddress: async () => 'file' } as unknown as FileStore },
      prepared: {
        writeAddresses: async () => ({}),
        get: async () => (ends.length < 3 ? undefined : content),
      } as unknown as PreparedAttachments,
    },
    { send } as unknown as LambdaClient,
    () => 'prepare-attachment',
  );
  const reading = ['busy', 'busy', 'neighbour'].map((workspaceId, index) => {
    const file = { uuid: `file-${index}`, workspaceId, expiresAt: null } as StoredFile;
    return reader.read(file, { whole: 1, start: 1 }, new AbortController().signal);
  });
  await vi.waitFor(() => expect(invoked).toEqual(['busy', 'neighbour']));
  for (const end of ends) end();
  await vi.waitFor(() => expect(invoked).toHaveLength(3));
  ends[2]?.();
  await Promise.all(reading);
});

describe('a slow reader', () => {
  it('is one of its own process, and joins until its workspace has half of the slots', async () => {
    const world = stage({ readers: 8 });
    const joined = [];
    for (let reader = 0; reader < 6; reader += 1)
      joined.push(await world.start(`reader ${reader}`).join('readers', 'busy'));
    expect(joined.map((leave) => leave !== undefined)).toEqual([true, true, true, true, false, false]);
    expect(await world.start('neighbour').join('readers', 'neighbour')).toBeDefined();
    await joined[0]?.();
    expect(await world.start('next').join('readers', 'busy')).toBeDefined();
    expect(await world.start('next but one').join('readers', 'busy')).toBeUndefined();
  });

  it('that leaves during a report has left in the last one, and its process calls nothing afterwards', async () => {
    const world = stage({ readers: 8 });
    const leave = await world.start('reader').join('readers', 'busy');
    world.latency = () => 100;
    // The report of every five seconds is under way.
    await world.clock.advance(5050);
    const left = leave?.();
    await world.clock.advance(1000);
    await left;
    expect(world.stored.get('reader')?.slots).toEqual({});
    const writes = world.writes.get('reader');
    await world.clock.advance(60_000);
    expect(world.writes.get('reader')).toBe(writes);
  });
});

/**
 * Lambda fills the environments one after the other, and kills one now and then. Calls of the table take up to half a
 * second, and some fail.
 */
it.each([1, 2, 3])('leaves room for everybody, whatever %i busy workspaces do', async (busy) => {
  const seed = 7 * busy;
  const random = seededRandom(seed);
  const [environments, each] = [8, 64];
  const size = environments * each;
  const world = stage({ replies: size });
  world.latency = () => 1 + Math.floor(random() * 500);
  interface Environment {
    shares: Shares;
    open: Set<() => void>;
    name: string;
  }
  const running: Environment[] = [];
  let started = 0;
  const totals = new Map<string, number>();
  const rejected = new Map<string, number>();

  function request(workspaceId: string, seconds: number): void {
    let environment = running.find(({ open }) => open.size < each);
    if (environment === undefined) {
      expect(running.length, `seed ${seed}`).toBeLessThan(environments);
      const name = `environment ${started++}`;
      environment = { shares: world.start(name), open: new Set(), name };
      running.push(environment);
    }
    const { shares: own, open } = environment;
    let leave: () => void;
    try {
      leave = own.take('replies', workspaceId);
    } catch {
      rejected.set(workspaceId, (rejected.get(workspaceId) ?? 0) + 1);
      return;
    }
    totals.set(workspaceId, (totals.get(workspaceId) ?? 0) + 1);
    const end = (): void => {
      if (!open.delete(end)) return;
      leave();
      totals.set(workspaceId, (totals.get(workspaceId) ?? 0) - 1);
    };
    open.add(end);
    world.clock.after(seconds * 1000, end);
  }

  const names = Array.from({ length: busy }, (_, index) => `busy ${index}`);
  for (let second = 0; second < 300; second += 1) {
    for (const name of names) for (let count = 0; count < 20; count += 1) request(name, 600);
    for (let neighbour = 0; neighbour < 10; neighbour += 1) request(`neighbour ${neighbour}`, 2);
    world.failReports(random() < 0.05);
    if (random() < 0.01) {
      const [killed] = running.splice(Math.floor(random() * running.length), 1);
      if (killed !== undefined) world.kill(killed.name);
      for (const end of killed?.open ?? []) end();
    }
    await world.clock.advance(1000);
    // A count may be ten seconds old, and each has had 200 requests since.
    for (const name of names)
      expect(totals.get(name), `seed ${seed}`).toBeLessThan(size / (busy + 1) + 10 * 20);
  }
  for (let neighbour = 0; neighbour < 10; neighbour += 1)
    expect(rejected.get(`neighbour ${neighbour}`), `seed ${seed}`).toBeUndefined();
  for (const name of names) {
    expect(rejected.get(name)).toBeGreaterThan(0);
    // Beside the neighbours' 20 to 30, each has its part.
    expect(totals.get(name), `seed ${seed}`).toBeGreaterThan((0.8 * size) / (busy + 1) - 30);
  }
});
