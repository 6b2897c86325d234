import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { expect, it } from 'vitest';
import { keys } from '#adapters/dynamo/table/keys.ts';
import { agentctlOf } from '#support/agentctl.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { dataTableOf, operatorAt } from '#support/data-table.ts';
import { dataOf, type OpenTenant, openTenant } from '#support/open-tenant.ts';
import { operator } from '#support/service.ts';
import { useScriptedService } from '#support/use-service.ts';
import { retention } from '../../bin/cost/operations.ts';

const { service } = await useScriptedService({ recordCalls: true });
const table = closeAfterTests(dataTableOf(service));
const agentctl = agentctlOf(service);
const lambda = new LambdaClient(operatorAt(service.run.endpoints.lambda));

const minute = 60_000;
const day = 86_400_000;
const [FunctionName = ''] = Object.entries(service.run.physicalIds)
  .filter(([id]) => /^DeleteUnusedChats[0-9A-F]{8}$/.test(id))
  .map(([, name]) => name);
async function run(): Promise<void> {
  const { FunctionError } = await lambda.send(new InvokeCommand({ FunctionName, Payload: '{}' }));
  expect(FunctionError).toBeUndefined();
}

const open = () => openTenant(service, { titles: false });
const retain = ({ workspaceId }: OpenTenant, days: number) =>
  operator().workspaces.update(workspaceId, { retentionDays: days });

/** How long ago a chat was last used, and created, in milliseconds. */
interface Age {
  unused: number;
  created?: number;
}

async function createUsed(tenant: OpenTenant, ages: readonly Age[]) {
  const ids: number[] = [];
  for (const each of ages) {
    const { id } = await tenant.createChat();
    await age(tenant, id, each);
    ids.push(id);
  }
  return ids;
}

async function age({ workspaceId }: OpenTenant, id: number, { unused, created = unused }: Age) {
  const [created_at, updated_at] = [created, unused].map((milliseconds) =>
    new Date(Date.now() - milliseconds).toISOString(),
  );
  await table.change(keys.chat(workspaceId, id), { created_at, updated_at });
}

async function idsOf({ client }: OpenTenant): Promise<number[]> {
  const chats = dataOf(await client.get<{ id: number }[]>('/chats?limit=100'));
  return chats.map(({ id }) => id).toSorted((one, other) => one - other);
}

/** The units that a run consumes, and the operations that write. */
async function costOfRun() {
  const before = service.run.dynamoCalls().length;
  await run();
  const calls = service.run
    .dynamoCalls()
    .slice(before)
    .filter(({ functionName }) => functionName?.includes('DeleteUnusedChats') === true);
  const sumOf = (unit: 'readUnits' | 'writeUnits') =>
    calls.reduce((sum, { consumed }) => sum + consumed[unit], 0);
  return { readUnits: sumOf('readUnits'), writeUnits: sumOf('writeUnits') };
}

type Cost = Awaited<ReturnType<typeof costOfRun>>;
const minus = (one: Cost, other: Cost): Cost => ({
  readUnits: one.readUnits - other.readUnits,
  writeUnits: one.writeUnits - other.writeUnits,
});

it('takes a few units a day for a workspace in which nothing is old, and one for each old chat that is used', async () => {
  await run();
  const without = await costOfRun();
  const costs = async (chats: readonly Age[]) => {
    const tenant = await open();
    await createUsed(tenant, chats);
    for (let created = 0; created < 5; created += 1) await tenant.createChat();
    await retain(tenant, 1);
    const [pass, rest] = [await costOfRun(), await costOfRun()];
    expect(rest).toEqual(without);
    return minus(pass, without);
  };
  const idle = await costs([]);
  const used = await costs(Array.from({ length: 40 }, () => ({ unused: minute, created: 2 * day })));
  console.log(`Units of a pass: ${JSON.stringify(idle)}; with 40 old chats in use: ${JSON.stringify(used)}`);
  expect(idle.readUnits).toBeLessThanOrEqual(retention.idlePass.readUnits);
  expect(idle.writeUnits).toBeLessThanOrEqual(retention.idlePass.writeUnits);
  expect((used.readUnits - idle.readUnits) / 40).toBeLessThanOrEqual(retention.usedChatReadUnits);
});

it('costs little more than the transactions of the deletions', async () => {
  await run();
  const without = await costOfRun();
  const tenant = await open();
  await createUsed(tenant, Array(88).fill({ unused: 3 * day }));
  await retain(tenant, 2);
  const { readUnits, writeUnits } = minus(await costOfRun(), without);
  console.log(`Units for each of 88 unused chats: ${readUnits / 88} read, ${writeUnits / 88} written`);
  expect(readUnits / 88).toBeLessThanOrEqual(retention.deletedChat.readUnits);
  expect(writeUnits / 88).toBeLessThanOrEqual(retention.deletedChat.writeUnits);
  expect(await idsOf(tenant)).toEqual([]);
});

it('is set by agentctl, which says what is wrong with a value, shows it and writes the audit log', async () => {
  const { workspaceId } = await open();
  const update = (days: string) =>
    agentctl.run('workspaces', 'update', workspaceId, '--retention-days', days);
  for (const wrong of ['0', '3651', '1.5', '-1', 'never', '']) {
    const { code, stderr } = await update(wrong);
    expect(code).not.toBe(0);
    expect(stderr.trim()).toMatch(
      /^error: .*It must be off, or whole days from 1 .* to 3650 .*\. Try agentctl .*--help$/,
    );
  }
  const show = () => agentctl.json<{ retention_days: number | null }>('workspaces', 'get', workspaceId);
  expect(await show()).toMatchObject({ retention_days: null });
  const entry = keys.operatorsRetention(workspaceId);
  for (const [days, shown] of [
    ['1', 1],
    ['3650', 3650],
    ['off', null],
  ] as const) {
    expect((await update(days)).code).toBe(0);
    expect(await show()).toMatchObject({ retention_days: shown });
    expect((await table.read(entry))?.days ?? null).toBe(shown);
  }
  const changes = (await table.readAll())
    .filter(({ pk }) => pk === keys.audit(workspaceId, '', '').pk)
    .flatMap(({ action, changes }) => (action === 'workspace updated' ? [changes] : []));
  expect(changes).toContainEqual({ retentionDays: { from: 1, to: 3650 } });
  expect(changes).toContainEqual({ retentionDays: { from: 3650, to: null } });
});
