import { type Key, keys } from '#adapters/dynamo/table/keys.ts';
import type { Item, Table } from '#adapters/dynamo/table/table.ts';
import { webhookEntry } from '#adapters/dynamo/webhooks/webhook-entry.ts';
import type {
  OpenBatchEntry,
  ReconciliationIndex,
  WebhookEntry,
} from '#domain/batches/reconciliation-index.ts';

/**
 * Two rounds of sixteen concurrent checks. At the reconciler's deadline, most entries of a longer page would be unused.
 */
const webhooksPerPage = 32;

export function dynamoReconciliationIndex(table: Table): ReconciliationIndex {
  const { pk: webhooks } = keys.operatorsWebhook('', '', '');
  return {
    async openBatches() {
      const pages = table.queryPages({
        KeyConditionExpression: 'pk = :pk',
        ExpressionAttributeValues: { ':pk': keys.operatorsOpenBatch('').pk },
      });
      return (await Array.fromAsync(pages)).flat().map(openBatchOf);
    },

    removeOpenBatch: ({ batchId }) =>
      table.transact((TableName) => [{ Delete: { TableName, Key: keys.operatorsOpenBatch(batchId) } }]),

    async *workspacesWithWebhooks() {
      // Sorts before every id. DynamoDB accepts no empty value of a key.
      let after = ' ';
      for (;;) {
        const pages = table.queryPages({
          KeyConditionExpression: 'pk = :pk AND sk > :after',
          ExpressionAttributeValues: { ':pk': webhooks, ':after': after },
          Limit: 1,
        });
        const first = (await pages.next()).value?.[0];
        if (first === undefined) return;
        const workspaceId = first.workspace_id as string;
        yield workspaceId;
        after = `${workspaceId}${afterSeparator}`;
      }
    },

    async *webhooksDue(workspaceId, until) {
      const pages = table.queryPages({
        KeyConditionExpression: 'pk = :pk AND sk BETWEEN :first AND :last',
        ExpressionAttributeValues: {
          ':pk': webhooks,
          ':first': keys.operatorsWebhook(workspaceId, '', '').sk,
          ':last': keys.operatorsWebhook(workspaceId, until, '').sk,
        },
        Limit: webhooksPerPage,
      });
      for await (const page of pages) yield* page.map(webhookOf);
    },

    moveWebhook: (entry, due) =>
      table.transact((TableName) => [
        { Delete: { TableName, Key: keyOf(entry) } },
        { Put: { TableName, Item: webhookEntry(entry, due) } },
      ]),
    removeWebhook: (entry) => table.transact((TableName) => [{ Delete: { TableName, Key: keyOf(entry) } }]),
  };
}

/** The character after `#`, which separates the parts of a key: it sorts after all keys of a workspace. */
const afterSeparator = '$';

const keyOf = ({ workspaceId, due, batchId }: WebhookEntry): Key =>
  keys.operatorsWebhook(workspaceId, due, batchId);

const openBatchOf = (item: Item): OpenBatchEntry => ({
  workspaceId: item.workspace_id as string,
  batchId: item.sk as string,
});

const webhookOf = (item: Item): WebhookEntry => ({
  workspaceId: item.workspace_id as string,
  batchId: item.batch_id as string,
  due: item.due as string,
});
