import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { expect, it } from 'vitest';
import { keys } from '#adapters/dynamo/table/keys.ts';
import type { ChatResource } from '#contract/chat.ts';
import type { MessageResource } from '#contract/message.ts';
import { positionOf } from '#domain/chats/message.ts';
import { agentctlOf } from '#support/agentctl.ts';
import { clientOf } from '#support/client.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { dataTableOf, operatorAt } from '#support/data-table.ts';
import { dataOf, type OpenTenant, openTenant } from '#support/open-tenant.ts';
import { chatItems, messageItems } from '#support/seed.ts';
import { createTenant, operator, type Tenant } from '#support/service.ts';
import { createChat } from '#support/turns.ts';
import { useService } from '#support/use-service.ts';
import { retention } from '../../bin/cost/operations.ts';

/** More than 76 groups of counts, the last of them not full. */
const count = 10_000_130;
/** Counts are kept for groups of so many ids. */
const group = 2 ** 17;
/** Offsets of the first chats of a group, oldest first, and of one later in it. */
const [offset, innerOffset] = [76 * group - 1, 76 * group + 199];

/** The same for the messages of one chat. */
const messageCount = 100_130;
const farMessage = 100_000;
const user = 'user-1';
const fullChat = 7;

/**
 * Only the chats and messages on the pages exist. A page that reads others on its way to an offset makes more calls, or
 * consumes more units, even where it finds nothing.
 */
const messagesAtEachEnd = 1000;
const chatsOnPages = [1, count, 76 * group];

function* itemsOf({ workspaceId, agentId }: Tenant) {
  const chats = chatItems({
    workspaceId,
    agentId,
    externalUserId: user,
    count: count - 1,
    messageCounts: { [fullChat]: messageCount },
    near: chatsOnPages,
  });
  yield* chats;
  for (const first of [1, messageCount - messagesAtEachEnd + 1])
    yield* messageItems({
      workspaceId,
      chatId: fullChat,
      first,
      count: messagesAtEachEnd,
      content: (position) => `Message ${position}`,
    });
}

const service = await useService({ recordCalls: true, maxConcurrency: 1 });
const tenant = await createTenant();
const table = closeAfterTests(dataTableOf(service));
await table.writeItems(itemsOf(tenant));
const client = clientOf(service, tenant);
// The service itself creates the last chat, which shows that it accepts the seeded items.
expect(await createChat(client, tenant, { external_user_id: user })).toBe(count);

/** Reads one page, and returns it with the table calls that its function made. */
async function page<Data>(path: string) {
  const before = service.run.dynamoCalls().length;
  const start = performance.now();
  const { status, body } = await client.get<Data>(path);
  const milliseconds = Math.round(performance.now() - start);
  expect(status, body.message ?? '').toBe(200);
  const calls = service.run
    .dynamoCalls()
    .slice(before)
    .filter(({ functionName }) => /List(Chats|Messages)/.test(functionName ?? ''));
  return {
    data: body.data,
    total: body.pagination?.total_records,
    next: body.pagination?.next_page,
    targets: calls.map(({ target }) => target),
    units: calls.reduce((sum, { consumed }) => sum + consumed.readUnits, 0),
    milliseconds,
  };
}

const byUser = `&external_user_id=${user}`;
const lists: [name: string, filter: () => string][] = [
  ['of all', () => ''],
  ['by agent', () => `&agent_id=${tenant.agentId}`],
  ['by user', () => byUser],
  ['by agent and user', () => `&agent_id=${tenant.agentId}${byUser}`],
];

/**
 * A page of 50 chats reads 50 chat items (1 unit each: strongly consistent, under 4 KB), the 4,928 counts of the list, and
 * its entries: 81 at most, two units. An offset inside a group adds the entries before it: a unit for each 48, at most 2,700.
 */
it.each(lists)(
  'costs the page, the counts and the entries of its group in the list %s',
  async (name, filter) => {
    const pageAt = (query: string) => page<ChatResource[]>(`/chats?limit=50&${query}${filter()}`);
    const ids = (first: number, step: 1 | -1 = 1) =>
      Array.from({ length: 50 }, (_, location) => first + step * location);
    const [oldest, newest, far, inner] = [
      await pageAt('order_by=asc'),
      await pageAt('order_by=desc'),
      await pageAt(`order_by=asc&offset=${offset}`),
      await pageAt(`order_by=asc&offset=${innerOffset}`),
    ];
    const linked = await page<ChatResource[]>(inner.next ?? '');
    for (const [found, expected] of [
      [oldest, ids(1)],
      [newest, ids(count, -1)],
      [far, ids(76 * group)],
      [inner, ids(76 * group + 200)],
      [linked, ids(76 * group + 250)],
    ] as const) {
      expect(found.data.map(({ id }) => id)).toEqual(expected);
      expect(found.total).toBe(count);
      expect(found.targets.filter((target) => target !== 'Query')).toEqual(['BatchGetItem']);
    }
    const units = [oldest, newest, far, inner, linked].map((found) => found.units);
    console.log(`chats ${name}: ${units.join(', ')} units`);
    for (const found of [newest, far, linked])
      expect(Math.abs(found.units - oldest.units)).toBeLessThanOrEqual(1);
    expect(inner.units - oldest.units).toBeLessThanOrEqual(200 / 30);
    expect(oldest.units).toBeLessThanOrEqual(53 + 130);
  },
);

it('costs the same at offset 100,000 as at 0 in a history', async () => {
  for (const order of ['asc', 'desc']) {
    const pageAt = (offset: number) =>
      page<MessageResource[]>(
        `/chats/${fullChat}/messages?limit=50&offset=${offset}&order_by=${order}${byUser}`,
      );
    await pageAt(0);
    const near = await pageAt(0);
    const away = await pageAt(farMessage);
    console.log(
      `messages, ${order}: ${near.units} units, ${near.targets.length} calls, ${near.milliseconds} ms at 0; ` +
        `${away.units} units, ${away.targets.length} calls, ${away.milliseconds} ms at ${farMessage}`,
    );
    for (const [{ data, total }, offset] of [
      [near, 0],
      [away, farMessage],
    ] as const) {
      expect(total).toBe(messageCount);
      const first = order === 'asc' ? offset + 1 : messageCount - offset;
      expect(data.map(({ id }) => positionOf(fullChat, id))).toEqual(
        Array.from({ length: 50 }, (_, location) => first + (order === 'asc' ? location : -location)),
      );
    }
    // One read of workspace and chat, and one query of fifty messages. The texts differ by a few digits: at most one
    // unit.
    expect(away.targets).toEqual(near.targets);
    expect(away.targets).toEqual(['BatchGetItem', 'Query']);
    expect(Math.abs(away.units - near.units)).toBeLessThanOrEqual(1);
    expect(away.units).toBeLessThanOrEqual(6);
  }
});

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
