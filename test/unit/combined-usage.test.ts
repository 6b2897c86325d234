import { beforeEach, describe, expect, it } from 'vitest';
import { dynamoUsageStore } from '#adapters/dynamo/workspaces/usage-store.ts';
import { combinedUsage } from '#domain/workspaces/count-usage.ts';
import { noCounts, noModelUsage, type UsageStore, type Use } from '#domain/workspaces/usage.ts';
import { type ManualClock, manualClock } from '#support/manual-clock.ts';
import { openMemoryTable } from '#support/memory-table/open-memory-table.ts';

const day = '2027-01-31';
const use = (changes: Partial<Use> = {}): Use => ({
  ...{ workspaceId: 'ws', apiKeyId: 'key', agentId: 'agent' },
  counts: { turns: 1 },
  calls: [['model', 'chat', 10, 2]],
  ...changes,
});

let clock: ManualClock;
let writes: number;
let isAlone: boolean;
let table: UsageStore;
let store: UsageStore;
beforeEach(() => {
  clock = manualClock();
  writes = 0;
  isAlone = false;
  const memory = dynamoUsageStore(openMemoryTable(), () => 400);
  table = {
    ...memory,
    async add(...added) {
      writes += 1;
      await memory.add(...added);
    },
  };
  store = combinedUsage(
    { add: (...added) => table.add(...added), between: (...range) => memory.between(...range) },
    clock,
    () => isAlone,
  );
});

const stored = async () => (await Array.fromAsync(store.between('ws', day, day))).flat();

describe('the usage of concurrent requests', () => {
  it('is written together, by key, agent and day', async () => {
    const added = Promise.all([
      store.add(use(), day),
      store.add(use({ counts: { turns: 1, failedTurns: 1 }, calls: [] }), day),
      store.add(use({ calls: [['other', 'chat', 1, 1]] }), day),
      store.add(use({ agentId: null }), day),
      store.add(use({ apiKeyId: 'another' }), day),
      store.add(use(), '2027-02-01'),
    ]);
    await clock.advance(499);
    expect(writes).toBe(0);
    await clock.advance(1);
    await added;
    expect(writes).toBe(4);
    const [, , ofAgent] = await stored();
    expect(ofAgent).toEqual({
      ...{ workspaceId: 'ws', apiKeyId: 'key', agentId: 'agent', day },
      counts: { ...noCounts, turns: 3, failedTurns: 1 },
      models: {
        model: { ...noModelUsage, calls: 1, promptTokens: 10, completionTokens: 2 },
        other: { ...noModelUsage, calls: 1, promptTokens: 1, completionTokens: 1 },
      },
    });
  });

  it('is written at once when sixteen are collected', async () => {
    await Promise.all(Array.from({ length: 32 }, () => store.add(use(), day)));
    expect(writes).toBe(2);
    expect((await stored())[0]?.counts.turns).toBe(32);
    await clock.advance(500);
    expect(writes).toBe(2);
  });

  it('fails for each of them if its write fails', async () => {
    table.add = () => Promise.reject(new Error('The table is unavailable'));
    const added = Promise.allSettled([store.add(use(), day), store.add(use(), day)]);
    await clock.advance(500);
    expect((await added).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });
});

it('writes the usage of a request alone at once', async () => {
  isAlone = true;
  await store.add(use(), day);
  expect(writes).toBe(1);
});
