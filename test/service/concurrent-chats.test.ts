import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { expect, it } from 'vitest';
import type { ChatResource } from '#contract/chat.ts';
import { awsTime } from '#local/run-options.ts';
import { chatPages, idempotency } from '#runtime/composition/services.ts';
import { type ApiResponse, type Client, clientOf } from '#support/client.ts';
import type { CreatedChat } from '#support/create-chats.ts';
import { functionIds, statusOfDeath } from '#support/entry-points.ts';
import { seededRandom } from '#support/seeded-random.ts';
import { createPublishedAgent, createTenant, type Tenant } from '#support/service.ts';
import { useService } from '#support/use-service.ts';

// Each test sends hundreds of requests.

const createChats = resolve(import.meta.dirname, '../support/create-chats.ts');
const seed = Number(process.env.SEED ?? Date.now() % 100_000);

console.log(`SEED=${seed}`);
const service = await useService({ maxConcurrency: 6, faults: awsTime, recordCalls: true });

interface Filter {
  agent_id?: string;
  external_user_id?: string;
}

const queryOf = (query: Filter & { limit: number; offset?: number; order_by: string }): string =>
  new URLSearchParams(
    Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
  ).toString();

/**
 * Reads a whole list by its own links. It checks that every page has the same total, and that it is the number of
 * chats.
 */
async function walk(client: Client, filter: Filter, order: string, limit: number): Promise<ChatResource[]> {
  const found: ChatResource[] = [];
  const totals = new Set<number>();
  let next: string | null = `/chats?${queryOf({ ...filter, order_by: order, limit })}`;
  while (next !== null) {
    const { status, body }: ApiResponse<ChatResource[]> = await client.get<ChatResource[]>(next);
    expect(status).toBe(200);
    found.push(...body.data);
    totals.add(body.pagination?.total_records ?? -1);
    next = body.pagination?.next_page ?? null;
  }
  expect([...totals]).toEqual([found.length]);
  return found;
}

const idsOf = (found: { id: number }[]): number[] => found.map(({ id }) => id);
const rising = (ids: number[]): number[] => [...new Set(ids)].sort((one, other) => one - other);

const matches = (chat: ChatResource, { agent_id, external_user_id }: Filter): boolean =>
  (agent_id === undefined || chat.meta.conversation_agent_id === agent_id) &&
  (external_user_id === undefined || chat.external_user_id === external_user_id);

async function tenantWithTwoAgents(): Promise<{ tenant: Tenant; agentIds: string[]; filters: Filter[] }> {
  const tenant = await createTenant();
  const agentIds = [tenant.agentId, await createPublishedAgent(tenant.workspaceId)];
  const agentFilters = agentIds.map((agent_id) => ({ agent_id }));
  const user = { external_user_id: 'user' };
  const filters = [{}, ...agentFilters, user, ...agentFilters.map((filter) => ({ ...filter, ...user }))];
  return { tenant, agentIds, filters };
}

it('creates a hundred chats at once, as far as their function lives, and every list agrees', async () => {
  const { tenant, agentIds, filters } = await tenantWithTwoAgents();
  const client = clientOf(service, tenant);
  let responded = 0;
  const responses = await Promise.all(
    Array.from({ length: 100 }, async (_, index) => {
      const response = await client.post<ChatResource>('/chats', {
        name: `Chat ${index}`,
        agent_id: agentIds[index % 2],
        ...(index % 4 < 2 && { external_user_id: 'user' }),
      });
      responded += 1;
      if (responded === 40) service.run.killWorkers(functionIds['create-chat']);
      return response;
    }),
  );
  const created = responses.filter(({ status }) => status === 200).map(({ body }) => body.data);
  // A request whose function was killed may or may not have created its chat.
  for (const { status } of responses) expect([200, statusOfDeath]).toContain(status);
  expect(created.length).toBeLessThan(100);

  const all = await walk(client, {}, 'asc', 17);
  expect(all.length).toBeGreaterThanOrEqual(created.length);
  expect(rising(idsOf(all))).toEqual(idsOf(all));
  expect(all.map(({ created_at }) => created_at)).toEqual(all.map(({ created_at }) => created_at).sort());
  const byId = new Map(all.map((chat) => [chat.id, chat]));
  expect(rising(idsOf(created))).toHaveLength(created.length);
  for (const chat of created) expect(byId.get(chat.id)).toEqual(chat);
  for (const filter of filters) {
    const expected = all.filter((chat) => matches(chat, filter));
    expect(await walk(client, filter, 'asc', 23)).toEqual(expected);
    expect(await walk(client, filter, 'desc', 1000)).toEqual(expected.toReversed());
  }
  const histories = await Promise.all(
    all.map(({ id }) => client.get(`/chats/${id}/messages?external_user_id=user`)),
  );
  expect(histories.map(({ status, body }) => [status, body.pagination?.total_records])).toEqual(
    all.map(() => [200, 0]),
  );
});

it('creates chats in four processes at once, one of which is killed, and repeats no id', async () => {
  const { workspaceId, agentId } = await createTenant();
  const random = seededRandom(seed);
  const killedAfter = 5 + Math.floor(random() * 60);
  const programs = ['one', 'two', 'three', 'killed'].map((name) =>
    spawn(process.execPath, [createChats, workspaceId, agentId, name, '80'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    }),
  );
  const created = await Promise.all(
    programs.map(async (program, index) => {
      const lines: CreatedChat[] = [];
      for await (const line of createInterface({ input: program.stdout })) {
        lines.push(JSON.parse(line) as CreatedChat);
        if (index === 3 && lines.length === killedAfter) program.kill('SIGKILL');
      }
      return lines;
    }),
  );
  const everyLine = { limit: 1000, offset: 0, ascending: true };
  const all = await chatPages().page({ workspaceId }, everyLine);
  expect(created.map(({ length }) => length).slice(0, 3)).toEqual([80, 80, 80]);
  expect(all.total).toBeGreaterThanOrEqual(240 + killedAfter);
  expect(rising(idsOf(all.chats))).toEqual(idsOf(all.chats));
  const byId = new Map(all.chats.map((chat) => [chat.id, chat]));
  const reported = created.flat();
  expect(rising(idsOf(reported))).toHaveLength(reported.length);
  for (const { id, name, externalUserId, keyHash } of reported) {
    expect(byId.get(id)).toMatchObject({ name, externalUserId });
    const key = { workspaceId, hash: keyHash, fingerprint: 'request', at: Date.now() };
    expect((await idempotency().find(key))?.work).toMatchObject({ is: 'chat', chatId: id });
  }
  for (const filter of [{ agentId }, { externalUserId: 'user-1' }, { agentId, externalUserId: 'user-1' }]) {
    const expected = all.chats.filter(
      (chat) => filter.externalUserId === undefined || chat.externalUserId === filter.externalUserId,
    );
    const found = await chatPages().page({ workspaceId, ...filter }, everyLine);
    expect(found).toMatchObject({ total: expected.length, chats: expected });
  }
});
