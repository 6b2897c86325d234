import { type Key, keys } from '#adapters/dynamo/table/keys.ts';
import { allOf, between, fieldsOf, type Table, where } from '#adapters/dynamo/table/table.ts';
import { webhookEntry } from '#adapters/dynamo/webhooks/delivery-store.ts';
import type { ReconciliationIndex, WebhookEntry } from '#domain/batches/batch-store.ts';

/** Enough for two rounds of the reconciler's concurrent checks. */
const webhooksPerPage = 32;

export function dynamoReconciliationIndex(table: Table): ReconciliationIndex {
  const { pk: webhooks } = keys.operatorsWebhook('', '', '');
  return {
    async openBatches() {
      const items = await table.queryAll(allOf(keys.operatorsOpenBatch('')));
      return items.map((item) => ({ workspaceId: item.workspace_id as string, batchId: item.sk as string }));
    },

    removeOpenBatch: ({ batchId }) => table.transact([{ Delete: { Key: keys.operatorsOpenBatch(batchId) } }]),

    async *workspacesWithWebhooks() {
      // A space sorts before every id. DynamoDB accepts no empty value of a key.
      let after = ' ';
      for (;;) {
        const pages = table.queryPages({ ...where('sk > :sk', { pk: webhooks, sk: after }), Limit: 1 });
        const first = (await pages.next()).value?.[0];
        if (first === undefined) return;
        const workspaceId = first.workspace_id as string;
        yield workspaceId;
        after = `${workspaceId}${afterSeparator}`;
      }
    },

    async *webhooksDue(workspaceId, until) {
      const due = between(
        keys.operatorsWebhook(workspaceId, '', ''),
        keys.operatorsWebhook(workspaceId, until, ''),
      );
      const pages = table.queryPages({ ...due, Limit: webhooksPerPage });
      for await (const page of pages) yield* page.map((item) => fieldsOf<WebhookEntry>(item));
    },

    moveWebhook: (entry, due) =>
      table.transact([{ Delete: { Key: keyOfEntry(entry) } }, { Put: { Item: webhookEntry(entry, due) } }]),
    removeWebhook: (entry) => table.transact([{ Delete: { Key: keyOfEntry(entry) } }]),
  };
}

/** Sorts after `#`, so that a workspace's id and this character sort after all keys of the workspace. */
const afterSeparator = '$';

const keyOfEntry = ({ workspaceId, due, batchId }: WebhookEntry): Key =>
  keys.operatorsWebhook(workspaceId, due, batchId);
