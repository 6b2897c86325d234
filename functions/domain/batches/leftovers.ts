import type { CountedCall } from '#domain/platform/services.ts';
import { countUsage } from '#domain/workspaces/count-usage.ts';
import type { BucketOwner } from '#domain/workspaces/rate-limits.ts';
import { limitsOf, type Workspace } from '#domain/workspaces/workspace.ts';
import {
  type Batch,
  type BatchItem,
  type BatchRequest,
  type ManifestEntry,
  type Slot,
  successorsIn,
} from './batch.ts';
import type { Services } from './batch-store.ts';

interface Leftovers {
  /** Items in `processing`, and waiting ones whose retry the last take has started. */
  lost: BatchItem[];
  waiting: BatchItem[];
  /** Indexes of requests that were not started, and whose predecessor in the history has ended. */
  ready: number[];
  withoutItem: number[];
}

export function leftoversOf(
  slot: Slot,
  number: number,
  items: readonly BatchItem[],
  manifest: readonly ManifestEntry[],
): Leftovers {
  const found: Leftovers = { lost: [], waiting: [], ready: [], withoutItem: [] };
  const withItem = new Set(items.map(({ requestIndex }) => requestIndex));
  for (const item of items.filter((each) => each.slot === number)) {
    const { requestIndex, status, attempt } = item;
    const next = manifest[requestIndex]?.next ?? null;
    if (status === 'processing') found.lost.push(item);
    else if (status === 'waiting')
      ((slot.named[requestIndex] ?? 0) > attempt ? found.lost : found.waiting).push(item);
    else if (next !== null && !withItem.has(next) && !(next in slot.named)) found.ready.push(next);
  }
  const successors = successorsIn(manifest);
  const block = Array.from({ length: slot.size }, (_, index) => slot.first + index).filter(
    (requestIndex) => requestIndex < manifest.length && !successors.has(requestIndex),
  );
  found.withoutItem = [...block, ...Object.keys(slot.named).map(Number)].filter(
    (requestIndex) => !withItem.has(requestIndex),
  );
  // The requests that have lost the most workers come last, because one of them may kill its worker.
  found.lost.sort((one, other) => one.lostAttempts - other.lostAttempts);
  return found;
}

export type CountServices = Services<'clock' | 'log' | 'meter' | 'rateLimits' | 'stageLimits' | 'usage'>;

export interface EndedAttempt {
  request: BatchRequest;
  /** `attempt`: as far as the worker knows, the request has not ended with this attempt. */
  outcome: 'success' | 'failed' | 'attempt';
  calls: readonly CountedCall[];
}

const hasEnded = ({ outcome }: EndedAttempt): boolean => outcome === 'success' || outcome === 'failed';

/**
 * The creation of the batch has paid for one call of each request. So only calls beyond the number of ended requests
 * are charged. Never rejects.
 */
export async function countRequests(
  services: CountServices,
  { workspaceId, apiKeyId }: Batch,
  workspace: Workspace,
  attempts: readonly EndedAttempt[],
): Promise<void> {
  if (attempts.length === 0) return;
  const countOf = (wanted: EndedAttempt['outcome']): number =>
    attempts.filter(({ outcome }) => outcome === wanted).length;
  services.meter.requestsProcessed({ done: countOf('success'), failed: countOf('failed'), delayed: 0 });
  const limits = limitsOf(workspace, services.stageLimits);
  const calls = attempts.flatMap((attempt) => attempt.calls).length;
  const unpaid = calls - attempts.filter(hasEnded).length;
  const byAgent = Map.groupBy(attempts, ({ request }) => request.agentId);
  await Promise.all([
    limits !== null && unpaid > 0 && chargeCalls(services, { workspaceId, apiKeyId, limits }, unpaid),
    ...[...byAgent].map(([agentId, requests]) =>
      countUsage(services, {
        ...{ workspaceId, apiKeyId, agentId },
        counts: {
          batchRequests: requests.filter(hasEnded).length,
          failedBatchRequests: requests.filter(({ outcome }) => outcome === 'failed').length,
        },
        calls: requests.flatMap((request) => request.calls),
      }),
    ),
  ]);
}

function chargeCalls({ rateLimits }: CountServices, owner: BucketOwner, modelCalls: number): Promise<void> {
  rateLimits.charge(owner, { modelCalls });
  return rateLimits.writeCharges(owner);
}
