import { ServiceError } from '#contract/errors.ts';

/** The event loop is overloaded if timers fire this much late, milliseconds. */
const overloadedFrom = 200;
const sampleMilliseconds = 50;

/** How long one sample counts, milliseconds. */
const overloadMilliseconds = 1000;

/** A workspace with so few requests is never rejected. The default of the setting `rateLimits` allows ten at once. */
const requestsOfAll = 10;

export interface FairAdmission {
  /**
   * Counts a request of a workspace until the returned function is called.
   * @throws rateLimited if the event loop is overloaded, other workspaces have requests too, and each has fewer
   */
  accept(workspaceId: string): () => void;
}

/**
 * Decides which requests a process accepts while its event loop is overloaded, so that one workspace does not slow all
 * others. A workspace alone is never rejected.
 * @param now milliseconds of a steady clock
 */
export function fairAdmission(now: () => number): FairAdmission & { sample(): void } {
  const requestsOf = new Map<string, number>();
  let sampledAt = now();
  let overloadedUntil = Number.NEGATIVE_INFINITY;

  return {
    sample() {
      const lag = now() - sampledAt - sampleMilliseconds;
      sampledAt = now();
      if (lag > overloadedFrom) overloadedUntil = sampledAt + overloadMilliseconds;
    },
    accept(workspaceId) {
      const own = requestsOf.get(workspaceId) ?? 0;
      if (now() < overloadedUntil && own >= requestsOfAll && isLargest(requestsOf, workspaceId))
        throw new ServiceError('rateLimited', 'Too many replies at once: try again in 1 s', {
          retryAfter: 1,
        });
      requestsOf.set(workspaceId, own + 1);
      return () => {
        const rest = (requestsOf.get(workspaceId) ?? 1) - 1;
        if (rest === 0) requestsOf.delete(workspaceId);
        else requestsOf.set(workspaceId, rest);
      };
    },
  };
}

/** Whether other workspaces have requests, and each has fewer than this one. */
function isLargest(requestsOf: ReadonlyMap<string, number>, workspaceId: string): boolean {
  const own = requestsOf.get(workspaceId) ?? 0;
  const others = [...requestsOf].filter(([id]) => id !== workspaceId);
  return others.length > 0 && others.every(([, count]) => count < own);
}

/** The admission of this process. */
export function startFairAdmission(): FairAdmission {
  const admission = fairAdmission(() => performance.now());
  setInterval(() => admission.sample(), sampleMilliseconds).unref();
  return admission;
}
