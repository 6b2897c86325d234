import { describe, expect, it } from 'vitest';
import { noCounts, noModelUsage, type Use } from '#domain/workspaces/usage.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { openStores } from '#support/open-stores.ts';

const { stores } = closeAfterTests(await openStores());

let ids = 0;
const newId = (kind: string): string => `${kind}_${String(++ids).padStart(4, '0')}`;

describe('usage', () => {
  const useOf = (changes: Partial<Use> = {}): Use => ({
    workspaceId: newId('ws'),
    apiKeyId: 'key_1',
    agentId: 'agent-1',
    counts: { turns: 1 },
    calls: [],
    ...changes,
  });
  const usageOf = async (workspaceId: string, from = '2027-01-01', to = '2027-01-31') =>
    (await Array.fromAsync(stores.usage.between(workspaceId, from, to))).flat();

  it('is the sum of the uses of a day', async () => {
    const first = useOf({
      counts: { turns: 1, failedTurns: 0, uploadedBytes: 100 },
      calls: [
        ['openai:large', 'chat', 1000, 50],
        ['openai:large', 'chat', 500, 0],
        ['demo', 'title', 0, 0],
      ],
    });
    const { workspaceId } = first;
    expect(await usageOf(workspaceId)).toEqual([]);
    await stores.usage.add(first, '2027-01-15');
    const owner = { workspaceId, apiKeyId: 'key_1', agentId: 'agent-1', day: '2027-01-15' };
    const large = { ...noModelUsage, calls: 2, promptTokens: 1500, completionTokens: 50 };
    expect(await usageOf(workspaceId)).toEqual([
      {
        ...owner,
        counts: { ...noCounts, turns: 1, uploadedBytes: 100 },
        models: { 'openai:large': large, demo: { ...noModelUsage, calls: 1 } },
      },
    ]);
    const counts = {
      ...{ turns: 1, failedTurns: 2, batchRequests: 3, failedBatchRequests: 4, uploads: 5 },
      ...{ tests: 6, failedTests: 7 },
    };
    await stores.usage.add({ ...first, counts, calls: [['demo', 'chat', 7, 8]] }, '2027-01-15');
    expect(await usageOf(workspaceId)).toEqual([
      {
        ...owner,
        counts: { ...counts, turns: 2, uploadedBytes: 100 },
        models: {
          'openai:large': large,
          demo: { ...noModelUsage, calls: 2, promptTokens: 7, completionTokens: 8 },
        },
      },
    ]);
  });

  it('counts every one of many uses at once', async () => {
    const use = useOf({ calls: [['demo', 'chat', 10, 1]] });
    await Promise.all(Array.from({ length: 20 }, () => stores.usage.add(use, '2027-01-15')));
    expect(await usageOf(use.workspaceId)).toMatchObject([
      {
        counts: { turns: 20 },
        models: { demo: { ...noModelUsage, calls: 20, promptTokens: 200, completionTokens: 20 } },
      },
    ]);
  });

  it('is listed by day, key and agent', async () => {
    const workspaceId = newId('ws');
    const added: [day: string, apiKeyId: string, agentId: string | null][] = [
      ['2027-01-15', 'key_1', null],
      ['2027-01-15', 'key_1', 'agent-1'],
      ['2027-01-15', 'key_1', 'agent-2'],
      ['2027-01-15', 'key_2', 'agent-1'],
      ['2027-01-16', 'key_1', 'agent-1'],
    ];
    for (const [day, apiKeyId, agentId] of added.toReversed())
      await stores.usage.add(useOf({ workspaceId, apiKeyId, agentId }), day);
    const listed = await usageOf(workspaceId);
    expect(listed.map(({ day, apiKeyId, agentId }) => [day, apiKeyId, agentId])).toEqual(added);
    expect(listed.map(({ counts }) => counts.turns)).toEqual([1, 1, 1, 1, 1]);
  });

  it('is listed from the first to the last day', async () => {
    const use = useOf();
    const days = ['2027-01-09', '2027-01-10', '2027-01-20', '2027-01-21'];
    for (const day of days) await stores.usage.add(use, day);
    const daysBetween = async (from: string, to: string) =>
      (await usageOf(use.workspaceId, from, to)).map(({ day }) => day);
    expect(await daysBetween('2027-01-10', '2027-01-20')).toEqual(['2027-01-10', '2027-01-20']);
    expect(await daysBetween('2027-01-20', '2027-01-20')).toEqual(['2027-01-20']);
    expect(await daysBetween('2027-01-11', '2027-01-19')).toEqual([]);
  });

  it('belongs to one workspace', async () => {
    await stores.usage.add(useOf(), '2027-01-15');
    expect(await usageOf(newId('ws'))).toEqual([]);
  });

  it('has no entry for a use of nothing', async () => {
    const use = useOf({ counts: { turns: 0, uploads: 0 } });
    await stores.usage.add(use, '2027-01-15');
    await stores.usage.add({ ...use, counts: {} }, '2027-01-15');
    expect(await usageOf(use.workspaceId)).toEqual([]);
  });
});
