import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import type { CountedCall } from '#domain/platform/services.ts';
import { prices, usage } from '#runtime/composition/services.ts';
import { variables } from '#runtime/environment/variables.ts';
import { agentctlOf } from '#support/agentctl.ts';
import { openTenant } from '#support/open-tenant.ts';
import { useService } from '#support/use-service.ts';

const service = await useService();
// The days of the tests are in the past: their usage must not have expired.
process.env[variables.usageDays] = '36500';
const { json, lines, run } = agentctlOf(service);

/** Prices apply to all workspaces, so each test has models of its own. */
const modelOf = () => `openai:${randomUUID()}`;
const today = new Date().toISOString().slice(0, 10);

interface Costs {
  cost_usd: string | null;
  unpriced_models: string[];
}
interface Report {
  usage: (Costs & Record<string, unknown>)[];
  total: Costs;
}

const tenant = await openTenant(service);
const [first, second] = ['2026-03-01', '2026-03-02'];
const use = (workspaceId: string, day: string, calls: CountedCall[], agentId = tenant.agentId) =>
  usage().add({ workspaceId, apiKeyId: tenant.apiKeyId, agentId, counts: { turns: 1 }, calls }, day);
const words = (workspaceId: string, by: string, until = second) => [
  ...['usage', '--workspace', workspaceId, '--from', first, '--to', until, '--by', by],
];
const reportOf = (workspaceId: string, by: string) => json<Report>(...words(workspaceId, by));
const newWorkspace = async () =>
  (await json<{ id: string }>('workspaces', 'create', '--name', randomUUID())).id;

/** The prices of a model as `prices list` prints them. */
const listed = async (model: string) => {
  const all = await json<{ prices: { model: string; from: string }[] }>('prices', 'list');
  return all.prices.filter((price) => price.model === model);
};
const audited = async (model: string) => {
  const { entries } = await json<{ entries: { target_id: string }[] }>('audit', '--from', today);
  return entries.filter((entry) => entry.target_id === model);
};

it('sets and lists prices, with audit entries of all workspaces', async () => {
  const model = modelOf();
  const set = (...words: string[]) => json('prices', 'set', model, ...words);
  const old = { input: '0.25', cached: '0.025', written: '0.3125', output: '2' };
  const given = ['--cached', '0.025', '--written', '0.3125', '--from', first];
  const result = await set('--input', '0.25', '--output', '2', ...given);
  expect(result).toEqual({ model, from: first, ...old });
  await set('--input', '0.5', '--output', '4.000001');
  const changed = { input: '0.5', cached: '0.5', written: '0.5', output: '4.000001' };
  await set('--input', '1', '--output', '1', '--from', first);
  const equal = { input: '1', cached: '1', written: '1', output: '1' };
  expect(await listed(model)).toEqual([
    { model, from: first, ...equal },
    { model, from: today, ...changed },
  ]);
  const table = (await lines('prices', 'list')).map((line) => line.split(/ +/));
  expect(table[0]).toEqual(['model', 'from', 'input', 'cached', 'written', 'output']);
  expect(table).toContainEqual([model, today, '0.5', '0.5', '0.5', '4.000001']);

  expect(await audited(model)).toMatchObject(
    [
      { [first]: { from: null, to: old } },
      { [today]: { from: null, to: changed } },
      { [first]: { from: old, to: equal } },
    ].map((changes) => ({ action: 'prices changed', workspace_id: null, changes })),
  );
});

it('rejects what is not a model, a price or a day, and changes nothing', async () => {
  const model = modelOf();
  const day = ['--from', first];
  for (const [name, input, output, problem, ...more] of [
    ['GPT', '1', '1', 'It must be a model'],
    ['demo#', '1', '1', 'It must be a model'],
    [model, '1e3', '1', 'It must be dollars per million tokens'],
    [model, '1', '1', 'It must be dollars per million tokens', '--cached', '1000000'],
    [model, '1', '1', 'It must be a day', '--from', '2026-02-30'],
  ] as const) {
    const { code, stderr } = await run(
      ...['prices', 'set', name, `--input=${input}`, `--output=${output}`, ...day, ...more],
    );
    expect([code, stderr]).toEqual([2, expect.stringContaining(problem)]);
  }
  expect((await run('prices', 'set', model, '--input', '1')).stderr).toContain("'--output <dollars>'");
  expect(await audited(model)).toEqual([]);
});

it('loses none of the prices that operators set at the same time', async () => {
  const models = Array.from({ length: 8 }, modelOf);
  const price = { input: 1, cached: 1, written: 1, output: 1 };
  const shared = modelOf();
  await Promise.all([
    ...models.map((model) => prices().set(model, first, price)),
    ...['2026-01-01', '2026-01-02'].map((day) => prices().set(shared, day, price)),
    json('prices', 'set', shared, '--input', '1', '--output', '1', '--from', '2026-01-03'),
  ]);
  for (const model of models) expect(await listed(model)).toHaveLength(1);
  const days = (await listed(shared)).map(({ from }) => from);
  expect(days).toEqual(['2026-01-01', '2026-01-02', '2026-01-03']);
  expect(await audited(shared)).toHaveLength(3);
});

it('multiplies the tokens of each day by the prices of that day', async () => {
  const model = modelOf();
  const [workspaceId, flex] = [await newWorkspace(), `${model}#flex`];
  const set = (name: string, from: string, input: string, output: string, ...words: string[]) =>
    json('prices', 'set', name, '--input', input, '--output', output, '--from', from, ...words);
  await set(model, '2026-01-01', '0.25', '2', '--cached', '0.025', '--written', '0.3125');
  await set(model, second, '0.000001', '3');
  await set(flex, first, '0.125', '1');
  const call: CountedCall = [model, 'chat', 1000, 50, 800, 100];
  await use(workspaceId, first, [call, call]);
  await use(workspaceId, first, [[flex, 'chat', 1000, 50]], 'another-agent');
  await use(workspaceId, second, [[model, 'title', 10_000_001, 1]]);
  const [ofFlex, ofSecond] = ['0.000175000000', '0.000013000001'];

  const byDay = await reportOf(workspaceId, 'day');
  expect(byDay.usage).toMatchObject([
    { day: first, turns: 2, prompt_tokens: 3000, cost_usd: '0.000527500000', unpriced_models: [] },
    { day: second, turns: 1, cost_usd: ofSecond },
  ]);
  expect(byDay.total).toMatchObject({ cost_usd: '0.000540500001', unpriced_models: [] });
  expect((await reportOf(workspaceId, 'model')).usage).toMatchObject([
    { model, cost_usd: '0.000365500001' },
    { model: flex, cost_usd: ofFlex },
  ]);
  const byAgent = (await reportOf(workspaceId, 'agent')).usage;
  expect(byAgent.find(({ agent_id }) => agent_id === 'another-agent')?.cost_usd).toBe(ofFlex);
  for (const by of ['key', 'workspace'])
    expect((await reportOf(workspaceId, by)).usage).toMatchObject([{ cost_usd: '0.000540500001' }]);
  const text = (await lines(...words(workspaceId, 'day'))).map((line) => line.split(/ +/).at(-1));
  expect(text).toEqual(['dollars', '0.0005', '0.0000', '0.0005']);
});

it('knows no cost of calls without a price, and names their models', async () => {
  const [priced, from, none] = [modelOf(), modelOf(), modelOf()];
  const workspaceId = await newWorkspace();
  const ones = ['--input', '1', '--output', '1', '--from'];
  await json('prices', 'set', priced, ...ones, first);
  await json('prices', 'set', from, ...ones, second);
  await use(workspaceId, first, [
    [priced, 'chat', 1_000_000, 0],
    [from, 'chat', 1, 1],
  ]);
  await use(workspaceId, second, [
    [from, 'chat', 1_000_000, 0],
    [none, 'chat', 0, 0],
  ]);
  await usage().add(
    { workspaceId, apiKeyId: 'key_uploads', agentId: null, counts: { uploads: 1 }, calls: [] },
    second,
  );
  const byDay = await reportOf(workspaceId, 'day');
  expect(byDay.usage).toMatchObject([
    { day: first, cost_usd: null, unpriced_models: [from] },
    { day: second, cost_usd: null, unpriced_models: [none] },
  ]);
  expect(byDay.total).toMatchObject({ cost_usd: null, unpriced_models: [from, none] });
  const byModel = (await reportOf(workspaceId, 'model')).usage;
  expect(Object.fromEntries(byModel.map(({ model, cost_usd }) => [model, cost_usd]))).toEqual({
    ...{ [priced]: '1.000000000000', [from]: null, [none]: null },
  });
  const byKey = (await reportOf(workspaceId, 'key')).usage;
  expect(byKey.find(({ key_id }) => key_id === 'key_uploads')?.cost_usd).toBe('0.000000000000');

  const [titles = '', ...rest] = await lines(...words(workspaceId, 'day'));
  expect(titles).toMatch(/ dollars$/);
  expect(rest.slice(0, 3).map((line) => line.split(/ +/).at(-1))).toEqual(['–', '–', '–']);
  expect(rest.slice(3)).toEqual([`Without a price on a day of their calls: ${from}, ${none}`]);
});
