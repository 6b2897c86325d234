import type { DeliveryOwner } from '#domain/webhooks/webhook-delivery.ts';
import { type BatchObserver, type ReconcileServices, reconcileOpenBatch } from './reconcile-open-batch.ts';
import { reconcileWebhook } from './reconcile-webhook.ts';
import type { OpenBatchEntry } from './reconciliation-index.ts';
import { takeTurns } from './take-turns.ts';

/** A check takes about 80 ms, for ten calls to AWS. So 16 concurrent checks are 200 checks a second. */
const checksAtOnce = 16;

/**
 * A run starts no check after this time, so the last checks end before the function's timeout and before the next run.
 */
const runMilliseconds = 45_000;

/** Not started after the deadline. */
type Check = () => Promise<void>;

/**
 * Repairs what crashes and outages have left: checks every open batch, and every webhook whose next attempt is overdue.
 * Workspaces take turns. The next run starts with the batches that a run did not reach before its deadline. A repeated
 * run, or one concurrent with workers, does no harm.
 * @returns `overdue`: the number of batches that are open long after they expired; `oldestWait`: milliseconds that the
 * oldest request has waited for a worker
 */
export const reconcileBatches =
  (services: ReconcileServices) => async (): Promise<{ overdue: number; oldestWait: number }> => {
    const { batchQueue, clock, log, reconciliationIndex } = services;
    const end = clock.now().getTime() + runMilliseconds;
    const entries = await openBatchesFromCursor(services);
    const depth = entries.length === 0 ? 'drained' : await batchQueue.depth();
    const checked = new Set<OpenBatchEntry>();
    const found = { overdue: 0, oldestWait: 0 };
    const observer: BatchObserver = {
      overdue() {
        found.overdue += 1;
      },
      waited(milliseconds) {
        found.oldestWait = Math.max(found.oldestWait, milliseconds);
      },
    };

    const logged =
      ({ batchId }: DeliveryOwner, work: Check): Check =>
      async () => {
        try {
          await work();
        } catch (error) {
          log.error('A batch was not reconciled', { batchId, error });
        }
      };
    const checkOpen = (entry: OpenBatchEntry): Check =>
      logged(entry, async () => {
        checked.add(entry);
        await reconcileOpenBatch(services)(entry, depth, observer);
      });
    const byWorkspace = [...Map.groupBy(entries, ({ workspaceId }) => workspaceId).values()];
    // The next run reads the page that this one could not read.
    const onFailure = (error: unknown) => log.error('A list of the reconciler was not read', { error });
    const openBatches = takeTurns(
      byWorkspace.map((ofWorkspace) => ofWorkspace.map(checkOpen).values()),
      onFailure,
    );
    const webhooks = takeTurns(webhookChecks(services, logged), onFailure);

    const all = takeTurns([openBatches, webhooks], onFailure);
    const isComplete = await runChecks(all, () => clock.now().getTime() < end);
    const next = isComplete ? undefined : entries.find((entry) => !checked.has(entry));
    if (next !== undefined) {
      log.warn('The reconciler met its deadline', { unchecked: entries.length - checked.size });
      await reconciliationIndex.saveCursor(next.batchId);
    }
    return found;
  };

/** The open batches in the order of their ids, starting with the first one that the last run did not reach. */
async function openBatchesFromCursor({ reconciliationIndex }: ReconcileServices): Promise<OpenBatchEntry[]> {
  const entries = await reconciliationIndex.openBatches();
  const cursor = entries.length === 0 ? undefined : await reconciliationIndex.cursor();
  const first = cursor === undefined ? 0 : entries.findIndex(({ batchId }) => batchId >= cursor);
  return first <= 0 ? entries : [...entries.slice(first), ...entries.slice(0, first)];
}

/** For each workspace with undelivered webhooks, the checks of those that are due. */
async function* webhookChecks(
  services: ReconcileServices,
  logged: (owner: DeliveryOwner, work: Check) => Check,
): AsyncGenerator<AsyncIterator<Check>> {
  const { clock, reconciliationIndex, replySettings } = services;
  // The execution makes each attempt when it is due. An attempt that is overdue by a lease may have no execution.
  const until = new Date(clock.now().getTime() - replySettings.lease).toISOString();
  for await (const workspaceId of reconciliationIndex.workspacesWithWebhooks())
    yield (async function* () {
      for await (const entry of reconciliationIndex.webhooksDue(workspaceId, until))
        yield logged(entry, () => reconcileWebhook(services)(entry, until));
    })();
}

/** @returns whether all checks were started before the deadline */
async function runChecks(checks: AsyncGenerator<Check>, hasTime: () => boolean): Promise<boolean> {
  let isComplete = true;
  const runNext = async (): Promise<void> => {
    for await (const check of checks) {
      if (!hasTime()) {
        isComplete = false;
        return;
      }
      await check();
    }
  };
  await Promise.all(Array.from({ length: checksAtOnce }, runNext));
  return isComplete;
}
