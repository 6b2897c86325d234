import { join } from 'node:path';
import { expect, it } from 'vitest';
import { keys } from '#adapters/dynamo/table/keys.ts';
import type { ChatResource } from '#contract/chat.ts';
import { type Client, clientOf } from '#support/client.ts';
import { closeAfterTests, temporaryFolder } from '#support/close-after-tests.ts';
import { processesNaming, startOn } from '#support/command.ts';
import { dataTableOf } from '#support/data-table.ts';
import { replyWith } from '#support/model-server.ts';
import { callsByMessage, startScriptedModel } from '#support/scripted-model.ts';
import { createTenant, startService, type Tenant } from '#support/service.ts';
import {
  contentsOf,
  createChat,
  historyOf,
  interrupted,
  rejectedWhileResponding,
  send,
  stepThrough,
} from '#support/turns.ts';
import type { Connection } from '../../bin/local/connection.ts';

// The service starts four times, twice with a synth.

const model = closeAfterTests(await startScriptedModel());
const callFor = callsByMessage(model);
const folder = await temporaryFolder('service-data-');

/** Everything that a workspace's clients can see. */
async function everythingOf(client: Client) {
  const { body } = await client.get<ChatResource[]>('/chats?limit=1000');
  const agents = await client.get('/chats/published-agents');
  return {
    agents: agents.body.data,
    chats: body.data,
    total: body.pagination?.total_records,
    histories: await Promise.all(body.data.map(({ id }) => historyOf(client, id))),
  };
}

it('finds everything again after a stop, and goes on with its conversations', async () => {
  const dataDir = join(folder, 'stopped');
  const options = { dataDir, variables: { OPENAI_BASE_URL: model.url }, maxConcurrency: 1 };
  const first = await startService(options);
  const tenant = await createTenant({ model: 'openai:test', titles: false });
  const before = clientOf(first, tenant);
  const chatId = await createChat(before, tenant);
  await createChat(before, tenant, { name: 'Empty' });
  await send(before, tenant, chatId, 'Remember me');
  const large = 'large '.repeat(80_000);
  void callFor('Say much').then((call) => replyWith(call, large));
  await send(before, tenant, chatId, 'Say much');
  const seen = await everythingOf(before);
  await first.close();

  const second = await startService(options);
  const after = clientOf(second, tenant);
  expect(await everythingOf(after)).toEqual(seen);
  expect((await send(after, tenant, chatId, 'Still there?')).body.data).toBe('Hello');
  expect(contentsOf(await historyOf(after, chatId))).toEqual([
    'Remember me',
    'Hello',
    'Say much',
    large,
    'Still there?',
    'Hello',
  ]);
  expect(await createChat(after, tenant)).toBe(3);
  await second.close();
});

it('finds everything again after a kill in the middle of a reply', async () => {
  const dataDir = join(folder, 'killed');
  const start = () => startOn(dataDir, [], { OPENAI_BASE_URL: model.url });
  const runOf = (connection: Connection) => ({
    run: {
      outputs: { DataTableName: connection.data_table },
      endpoints: { dynamodb: connection.dynamodb_endpoint },
    },
  });
  const tenantOf = (connection: Connection): Omit<Tenant, 'apiKeyId'> => ({
    workspaceId: connection.workspace_id,
    apiKey: connection.api_key,
    agentId: connection.agent_id,
  });

  const first = await start();
  const tenant = tenantOf(first.connection);
  const client = clientOf({ baseUrl: first.connection.base_url }, tenant);
  const table = dataTableOf(runOf(first.connection));
  await table.change(keys.agentVersion(tenant.workspaceId, tenant.agentId, 1), {
    'definition.llm_model': 'openai:test',
  });
  table.close();
  const chatId = await createChat(client, tenant, { name: 'Cut off' });
  expect((await send(client, tenant, chatId, 'Before')).body.data).toBe('Hello');
  const called = callFor('Cut me off');
  const fields = { message: 'Cut me off', agent_id: tenant.agentId };
  const events = stepThrough(await client.stream(chatId, fields));
  await events.next();
  (await called).chunk('One, ');
  expect(await events.next()).toMatchObject({ delta: 'One, ' });
  first.command.child.kill('SIGKILL');
  const broken = expect(events.rest()).rejects.toThrow();
  // The second start follows at once: the lock and the emulator of a killed run end shortly after it.
  const second = await start();
  expect((await first.command.ended).signal).toBe('SIGKILL');
  await broken;
  expect(tenantOf(second.connection)).toEqual(tenant);
  const repeated = clientOf({ baseUrl: second.connection.base_url }, tenant);
  expect(contentsOf(await historyOf(repeated, chatId))).toEqual(['Before', 'Hello', 'Cut me off']);
  expect(await send(repeated, tenant, chatId, 'Too soon')).toMatchObject(rejectedWhileResponding);
  const afterwards = dataTableOf(runOf(second.connection));
  await afterwards.endLease({ workspaceId: tenant.workspaceId, chatId });
  afterwards.close();
  expect((await send(repeated, tenant, chatId, 'After')).body.data).toBe('Hello');
  const history = await historyOf(repeated, chatId);
  expect(contentsOf(history)).toEqual(['Before', 'Hello', 'Cut me off', '', 'After', 'Hello']);
  expect(history[3]?.meta.error).toEqual(interrupted);
  second.command.child.kill('SIGTERM');
  expect((await second.command.ended).code).toBe(0);
  expect(await processesNaming(dataDir)).toEqual([]);
});
