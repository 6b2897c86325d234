import type { CountedCall } from '#domain/platform/model-usage.ts';
import { countUsage } from '#domain/workspaces/count-usage.ts';
import type { BucketOwner } from '#domain/workspaces/rate-bucket-store.ts';
import { limitsOf, type Workspace } from '#domain/workspaces/workspace.ts';
import type { Batch, BatchRequest } from './batch.ts';
import type { Services } from './services.ts';

export type CountServices = Services<'clock' | 'log' | 'meter' | 'rateLimits' | 'stageLimits' | 'usage'>;

export interface EndedAttempt {
  request: BatchRequest;
  /** `attempt`: the request has not ended with it. */
  outcome: 'success' | 'failed' | 'attempt';
  calls: readonly CountedCall[];
}

const hasEnded = ({ outcome }: EndedAttempt): boolean => outcome === 'success' || outcome === 'failed';

/**
 * Makes one write for each agent, and one if there were more calls of models than the batch has paid, which is one for each
 * request. The requests of a batch nearly always have the same agent.
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
