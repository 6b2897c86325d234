import type {
  OpenBatchEntry,
  ReconciliationIndex,
  WebhookEntry,
} from '#domain/batches/reconciliation-index.ts';

export interface MemoryReconciliationIndex {
  reconciliationIndex: ReconciliationIndex;
  /** For the transactions of other stores. */
  addOpenBatch(entry: Omit<OpenBatchEntry, 'lastCheck'>): void;
  deleteOpenBatch(batchId: string): void;
  addWebhook(entry: WebhookEntry): void;
}

const compare = (one: string, other: string): number => (one < other ? -1 : Number(one > other));

export function memoryReconciliationIndex(): MemoryReconciliationIndex {
  const openBatches = new Map<string, OpenBatchEntry>();
  const webhooks = new Map<string, WebhookEntry>();
  let cursor: string | undefined;
  const nameOf = ({ workspaceId, due, batchId }: WebhookEntry) => JSON.stringify([workspaceId, due, batchId]);
  const addWebhook = ({ workspaceId, due, batchId }: WebhookEntry): void => {
    const entry = { workspaceId, due, batchId };
    webhooks.set(nameOf(entry), entry);
  };
  const deleteOpenBatch = (batchId: string): void => void openBatches.delete(batchId);

  const reconciliationIndex: ReconciliationIndex = {
    openBatches: async () =>
      structuredClone([...openBatches.values()]).sort((one, other) => compare(one.batchId, other.batchId)),
    async saveCheck({ batchId }, { groups, at }) {
      const entry = openBatches.get(batchId);
      if (entry !== undefined) entry.lastCheck = { groups, at };
    },
    removeOpenBatch: async ({ batchId }) => deleteOpenBatch(batchId),
    async *workspacesWithWebhooks() {
      yield* [...new Set([...webhooks.values()].map(({ workspaceId }) => workspaceId))].sort();
    },
    async *webhooksDue(workspaceId, until) {
      const due = [...webhooks.values()].filter(
        (entry) => entry.workspaceId === workspaceId && entry.due < until,
      );
      const byDue = (one: WebhookEntry, other: WebhookEntry): number =>
        one.due === other.due ? compare(one.batchId, other.batchId) : compare(one.due, other.due);
      yield* structuredClone(due).sort(byDue);
    },
    putWebhook: async (entry) => addWebhook(entry),
    async moveWebhook(entry, due) {
      webhooks.delete(nameOf(entry));
      addWebhook({ ...entry, due });
    },
    removeWebhook: async (entry) => void webhooks.delete(nameOf(entry)),
    cursor: async () => cursor,
    async saveCursor(batchId) {
      cursor = batchId;
    },
  };
  return {
    reconciliationIndex,
    addOpenBatch: ({ workspaceId, batchId }) =>
      void openBatches.set(batchId, { workspaceId, batchId, lastCheck: null }),
    deleteOpenBatch,
    addWebhook,
  };
}
