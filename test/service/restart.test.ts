import { join } from 'node:path';
import { expect, it } from 'vitest';
import { keys } from '#adapters/dynamo/table/keys.ts';
import { clientOf } from '#support/client.ts';
import { closeAfterTests, temporaryFolder } from '#support/close-after-tests.ts';
import { processesNaming, startOn } from '#support/command.ts';
import { dataTableOf } from '#support/data-table.ts';
import { callsByMessage, startScriptedModel } from '#support/scripted-model.ts';
import type { Tenant } from '#support/service.ts';
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

const model = closeAfterTests(await startScriptedModel());
const callFor = callsByMessage(model);

it('finds everything again after a kill in the middle of a reply', async () => {
  const dataDir = join(await temporaryFolder('service-data-'), 'killed');
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
