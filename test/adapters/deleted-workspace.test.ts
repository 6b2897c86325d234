import { expect, it } from 'vitest';
import { keys } from '#adapters/dynamo/table/keys.ts';
import { dynamoWorkspaceStore } from '#adapters/dynamo/workspaces/workspace-store.ts';
import type { Workspace } from '#domain/workspaces/workspace.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { openTable } from '#support/open-table.ts';

const opened = closeAfterTests(await openTable());

it('an update of a workspace that is deleted meanwhile creates nothing', async () => {
  const workspace: Workspace = {
    ...{ id: 'ws_1', name: 'Bakery', enabled: true, whitelistEnabled: false, titlesEnabled: true },
    ...{ openAiEnabled: false, retentionDays: null, limits: 'default', ownLimits: {} },
    createdAt: '2027-02-01T00:00:00.000Z',
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
