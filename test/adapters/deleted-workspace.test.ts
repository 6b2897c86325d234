import { expect, it } from 'vitest';
import { dynamoAgentReader, dynamoAgentStore } from '#adapters/dynamo/agents/agent-store.ts';
import { keys } from '#adapters/dynamo/table/keys.ts';
import { dynamoWorkspaceStore } from '#adapters/dynamo/workspaces/workspace-store.ts';
import { agentDefinition } from '#contract/agent.ts';
import type { Agent } from '#domain/agents/agent.ts';
import type { Workspace } from '#domain/workspaces/workspace.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { openTable } from '#support/open-table.ts';

const at = '2027-02-01T00:00:00.000Z';
const opened = closeAfterTests(await openTable());

it('an update of a workspace that is deleted meanwhile creates nothing', async () => {
  const workspace: Workspace = {
    ...{ id: 'ws_1', name: 'Bakery', enabled: true, whitelistEnabled: false, titlesEnabled: true },
    ...{ openAiEnabled: false, retentionDays: null, limits: 'default', ownLimits: {} },
    createdAt: at,
  };
  const { table } = opened;
  await dynamoWorkspaceStore(table, () => []).put(workspace);
  const raced = dynamoWorkspaceStore(
    {
      ...table,
      async transact(writes) {
        await table.deleteAll([keys.workspace('ws_1'), keys.operatorsWorkspace('ws_1')]);
        await table.transact(writes);
      },
    },
    () => [],
  );
  expect(await raced.update('ws_1', { enabled: false, retentionDays: 30 })).toBeUndefined();
  expect(await opened.dump()).toEqual([]);
});

it('a read of an agent that is deleted meanwhile finds no version', async () => {
  const { table } = opened;
  const store = dynamoAgentStore(table, () => []);
  const definition = agentDefinition.parse({ name: 'Clerk' });
  const agent: Agent = {
    ...{ id: 'agent', workspaceId: 'ws_2', publishState: 'published', definition, newestVersion: 1 },
    ...{ publishedVersionId: 'version', publishedAt: at, createdAt: at, updatedAt: at, revision: 1 },
  };
  await store.create(agent);
  const of = { agentId: agent.id, workspaceId: agent.workspaceId };
  await store.save(agent, {
    ...of,
    id: 'version',
    number: 1,
    definition,
    publishedAt: at,
    agentCreatedAt: at,
  });
  const missing = new Error('missing');
  const reader = (isDeleted: boolean) =>
    dynamoAgentReader({
      ...table,
      async getNamed() {
        if (isDeleted) await store.delete('ws_2', 'agent', { ...agent, revision: 2 });
        throw missing;
      },
    });
  await expect(reader(false).published('ws_2', 'agent')).rejects.toBe(missing);
  expect(await reader(true).published('ws_2', 'agent')).toBeUndefined();
  expect(await opened.dump()).toEqual([]);
});
