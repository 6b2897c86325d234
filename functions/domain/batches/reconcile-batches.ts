import type { DeliveryOwner } from '#domain/webhooks/webhook.ts';
import { takeTurns } from './attempt-request.ts';
import { type Batch, isOpen, leftOf } from './batch.ts';
import type { Services, WebhookEntry } from './batch-store.ts';
import {
  completeTaskCallback,
  needsCheck,
  restartExecution,
  type SlotServices,
  topUpSlots,
} from './slots.ts';

export type ReconcileServices = SlotServices &
  Services<'batchWorkflow' | 'deliveries' | 'log' | 'random' | 'reconciliationIndex' | 'replySettings'>;

/** Most checks only wait for two reads. */
const checksAtOnce = 16;

/** A run starts no check after this time, so that its last checks end before the function's timeout. */
const runMilliseconds = 45_000;

/** An expired batch is overdue after this time: it will hardly end by itself. */
const overdueAfterMilliseconds = 15 * 60 * 1000;

type Check = () => Promise<void>;

interface Found {
  overdue: number;
  oldestWait: number;
}

/**
 * Open batches come in a random order, so two runs that reach their deadline usually leave different ones unchecked.
 * @returns of the checked batches: `overdue`, how many are open long after they expired; `oldestWait`, the longest
 *   time, in milliseconds, for which new requests have waited for a worker
 */
export async function reconcileBatches(services: ReconcileServices): Promise<Found> {
  const { clock, log, random, reconciliationIndex } = services;
  const end = clock.now().getTime() + runMilliseconds;
  const found: Found = { overdue: 0, oldestWait: 0 };
  const logged =
    ({ batchId }: DeliveryOwner, work: Check): Check =>
    () =>
      work().catch((error: unknown) => log.error('A batch was not reconciled', { batchId, error }));
  // The next run reads the list again.
  const onFailure = (error: unknown) => log.error('A list of the reconciler was not read', { error });
  const entries = (await reconciliationIndex.openBatches())
    .map((entry) => ({ entry, order: random() }))
    .sort((one, other) => one.order - other.order)
    .map(({ entry }) => entry);
  const byWorkspace = [...Map.groupBy(entries, ({ workspaceId }) => workspaceId).values()];
  const checkOpen = (entry: DeliveryOwner): Check =>
    logged(entry, () => reconcileOpenBatch(services, entry, found));
  const openBatches = takeTurns(
    byWorkspace.map((ofWorkspace) => ofWorkspace.map(checkOpen).values()),
    onFailure,
  );
  const webhooks = takeTurns(webhookChecks(services, logged), onFailure);
  const checks = takeTurns<Check>([openBatches, webhooks], onFailure);
  let isComplete = true;
  const runNext = async (): Promise<void> => {
    for await (const check of checks) {
      isComplete = clock.now().getTime() < end;
      if (!isComplete) return;
      await check();
    }
  };
  await Promise.all(Array.from({ length: checksAtOnce }, runNext));
  if (!isComplete) log.warn('The reconciler met its deadline', { openBatches: entries.length });
  return found;
}

async function reconcileOpenBatch(
  services: ReconcileServices,
  entry: DeliveryOwner,
  found: Found,
): Promise<void> {
  const batch = await services.batches.get(entry.workspaceId, entry.batchId);
  // The transaction that creates a batch becomes visible item by item, so the batch may become visible after its entry.
  if (batch === undefined) return;
  if (!isOpen(batch)) return services.reconciliationIndex.removeOpenBatch(entry);
  const now = services.clock.now().getTime();
  if (now - Date.parse(batch.expiresAt) > overdueAfterMilliseconds) found.overdue += 1;
  found.oldestWait = Math.max(found.oldestWait, waitOf(batch, now));
  // Step Functions allows few descriptions of executions a second, and workers need no execution before the end of the
  // batch. So the execution is checked only if it must make the first slots or end the batch.
  const mustEnd = batch.stop !== null || needsCheck(batch, now);
  if (mustEnd || batch.slotsMade === 0) await restartExecution(services, batch);
  if (mustEnd) await completeTaskCallback(services, { workspaceId: entry.workspaceId, id: entry.batchId });
  else if (batch.slotsMade > 0) await topUpSlots(services, batch);
}

const waitOf = (batch: Batch, now: number): number =>
  batch.stop === null && leftOf(batch) > 0 ? now - Date.parse(batch.createdAt) : 0;

async function* webhookChecks(
  services: ReconcileServices,
  logged: (owner: DeliveryOwner, work: Check) => Check,
): AsyncGenerator<AsyncIterator<Check>> {
  const { clock, reconciliationIndex, replySettings } = services;
  // An attempt that is overdue by the length of a lease may have lost its execution.
  const until = new Date(clock.now().getTime() - replySettings.lease).toISOString();
  for await (const workspaceId of reconciliationIndex.workspacesWithWebhooks())
    yield (async function* () {
      for await (const entry of reconciliationIndex.webhooksDue(workspaceId, until))
        yield logged(entry, () => reconcileWebhook(services, entry, until));
    })();
}

async function reconcileWebhook(
  services: ReconcileServices,
  entry: WebhookEntry,
  until: string,
): Promise<void> {
  const { batches, clock, deliveries, reconciliationIndex } = services;
  const delivery = await deliveries.get(entry);
  if (delivery?.state !== 'pending') return reconciliationIndex.removeWebhook(entry);
  if (delivery.nextAt > until) return reconciliationIndex.moveWebhook(entry, delivery.nextAt);
  const batch = await batches.get(entry.workspaceId, entry.batchId);
  if (batch === undefined) throw new Error(`There is no batch ${entry.batchId}`);
  await restartExecution(services, batch);
  // Postpones the next check of this entry by the length of a lease.
  await reconciliationIndex.moveWebhook(entry, clock.now().toISOString());
}
