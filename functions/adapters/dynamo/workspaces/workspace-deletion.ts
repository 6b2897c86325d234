import { keys } from '#adapters/dynamo/table/keys.ts';
import type { ScanKeys } from '#adapters/dynamo/table/scan-keys.ts';
import { type Item, keyOf, type Table } from '#adapters/dynamo/table/table.ts';
import { transactIfFirst } from '#adapters/dynamo/table/transact-with-retry.ts';
import type { AuditAction } from '#domain/workspaces/audit.ts';
import type { WorkspaceDeletion } from '#domain/workspaces/workspace-deletion.ts';
import type { Audit } from './audit-log.ts';

/** Ten batch writes. With the eight segments of a scan, at most 80 are under way. */
const deletesAtOnce = 250;

/** The action of the audit entry that remains. */
const deletedAction: AuditAction = 'workspace deleted';

/** @param audit writes entries for all workspaces alone, because nothing of the workspace may remain */
export const dynamoWorkspaceDeletion = (table: Table, scan: ScanKeys, audit: Audit): WorkspaceDeletion => ({
  async start(workspaceId, at) {
    const update = async (UpdateExpression: string, ConditionExpression: string, values: Item) =>
      (
        await table.updateIf({
          Key: keys.workspace(workspaceId),
          UpdateExpression,
          ConditionExpression,
          ExpressionAttributeValues: { ':at': at, ...values },
          ReturnValues: 'ALL_NEW',
        })
      ).item;
    // An operator may have enabled the workspace after an earlier start: then functions may have written since.
    const item =
      (await update('SET enabled = :off, deletion_started_at = :at', 'enabled = :on', {
        ':off': false,
        ':on': true,
      })) ??
      (await update(
        'SET deletion_started_at = if_not_exists(deletion_started_at, :at)',
        'attribute_exists(pk)',
        {},
      ));
    // A run that has read it before ends long before the last pass.
    await table.deleteAll([keys.operatorsRetention(workspaceId)]);
    return (
      item && {
        startedAt: item.deletion_started_at as string,
        deleted: {
          items: (item.deletion_items as number | undefined) ?? 0,
          objects: (item.deletion_objects as number | undefined) ?? 0,
        },
      }
    );
  },

  async deleteItems(workspaceId, onPage) {
    await scan(['workspace_id', 'action', 'id'], async (page) => {
      const own = page.filter((item) => isOf(workspaceId, item));
      // First, because the key names them.
      const pointers = own.filter(isApiKey).map(({ id }) => keys.operatorsApiKey(id as string));
      await table.deleteAll(pointers);
      for (let first = 0; first < own.length; first += deletesAtOnce)
        await table.deleteAll(own.slice(first, first + deletesAtOnce).map(keyOf));
      await onPage(page.length, own.length + pointers.length);
    });
  },

  async add(workspaceId, { items, objects }) {
    await table.update({
      Key: keys.workspace(workspaceId),
      UpdateExpression: 'ADD deletion_items :items, deletion_objects :objects',
      ConditionExpression: 'attribute_exists(pk)',
      ExpressionAttributeValues: { ':items': items, ':objects': objects },
    });
  },

  async finish(workspaceId, { items, objects }) {
    await transactIfFirst(table, () => [
      { Delete: { Key: keys.workspace(workspaceId), ConditionExpression: 'attribute_exists(pk)' } },
      { Delete: { Key: keys.operatorsWorkspace(workspaceId) } },
      { Delete: { Key: keys.operatorsRetention(workspaceId) } },
      ...audit(deletedAction, workspaceId, workspaceId, { items, objects }),
    ]);
  },
});

/** Whether an item belongs to the workspace. Its own item and its list entry do not count. */
function isOf(workspaceId: string, { pk, sk, workspace_id, action }: Item): boolean {
  const own = keys.workspace(workspaceId);
  if (pk === own.pk) return sk !== own.sk;
  return (
    (pk as string).startsWith(`${own.pk}#`) || (workspace_id === workspaceId && action !== deletedAction)
  );
}

const isApiKey = ({ pk, sk }: Item): boolean => (pk as string).startsWith('KEY#') && sk === 'KEY';
