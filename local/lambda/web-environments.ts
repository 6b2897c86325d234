import { availableParallelism } from 'node:os';
import type { EventLoopUtilization } from 'node:perf_hooks';
import type { Address } from '../wire/listen-on-loopback.ts';
import { IDLE_MILLISECONDS } from './warm-threads.ts';
import {
  type Environment,
  startEnvironment,
  type WebFunctionDefinition,
} from './web-function-environment.ts';

// An environment is lagging if its event loop has computed for this share of a whole window.
const LAGGING_UTILIZATION = 0.95;
const WINDOW_MILLISECONDS = 1000;

// With more environments that compute than processors, they would only slow each other. One processor is for the gateway
// and the emulators.
const MAX_COMPUTING = availableParallelism() - 1;

interface Slot {
  readonly starting: Promise<Environment>;
  requests: number;
  idleSince: number;
  utilization: EventLoopUtilization | undefined;
  started: Environment | undefined;
}

/**
 * Starts another environment when all are full, or when one lags and a processor is left for another. Ends those that
 * are idle for five minutes.
 */
export function createWebEnvironments(definition: WebFunctionDefinition) {
  const { maxEnvironments, requestsPerEnvironment } = definition.limits;
  const slots = new Set<Slot>();

  function start(): Slot {
    const slot: Slot = {
      starting: startEnvironment(definition, () => void slots.delete(slot)),
      requests: 0,
      idleSince: Date.now(),
      utilization: undefined,
      started: undefined,
    };
    slots.add(slot);
    listening(slot).then(
      (environment) => {
        slot.started = environment;
      },
      () => slots.delete(slot),
    );
    return slot;
  }

  /** The environment with the fewest requests, of those that listen if there is one. */
  function freest(): Slot | undefined {
    const open = [...slots].filter(({ requests }) => requests < requestsPerEnvironment);
    const warm = open.filter(({ started }) => started !== undefined);
    return (warm.length > 0 ? warm : open).sort((one, other) => one.requests - other.requests)[0];
  }

  const watch = setInterval(() => {
    const now = Date.now();
    for (const slot of slots) {
      if (slot.requests === 0 && now - slot.idleSince > IDLE_MILLISECONDS) {
        slots.delete(slot);
        shutDownSlot(slot);
      } else if (isLagging(slot) && slots.size < Math.min(MAX_COMPUTING, maxEnvironments)) start();
    }
  }, WINDOW_MILLISECONDS);
  watch.unref();

  const endOldest = (count: number, end: (slot: Slot) => void): number => {
    const ending = [...slots].slice(0, count);
    for (const slot of ending) {
      slots.delete(slot);
      end(slot);
    }
    return ending.length;
  };

  return {
    /** An environment that accepts a request; undefined if all that the function may have are full. */
    take() {
      const slot = freest() ?? (slots.size < maxEnvironments ? start() : undefined);
      if (slot === undefined) return undefined;
      slot.requests += 1;
      return {
        /** Resolves with its address when it listens. */
        ready: async (): Promise<Address> => (await listening(slot)).address,
        /** Called when the request has ended. */
        release(): void {
          slot.requests -= 1;
          slot.idleSince = Date.now();
        },
      };
    },
    /** Starts an environment before the first request. Resolves when it listens, or has failed. */
    async prewarm(): Promise<void> {
      if (slots.size === 0) await listening(start()).catch(() => undefined);
    },
    /** Whether each environment has requests. */
    environments: (): readonly { readonly busy: boolean }[] =>
      [...slots].map(({ requests }) => ({ busy: requests > 0 })),
    /** Ends all environments immediately, busy ones too. Returns how many. */
    kill: (): number =>
      endOldest(slots.size, (slot) => void slot.starting.then(({ worker }) => worker.terminate())),
    /** Ends the oldest environments as Lambda does: SIGTERM, and the end a second later. Returns how many. */
    shutDown: (count: number): number => endOldest(count, shutDownSlot),
    async close(): Promise<void> {
      clearInterval(watch);
      await Promise.all(
        [...slots].map(async ({ starting }) => (await starting.catch(() => undefined))?.worker.terminate()),
      );
    },
  };
}

async function listening({ starting }: Slot): Promise<Environment> {
  const environment = await starting;
  await environment.listening;
  return environment;
}

const shutDownSlot = (slot: Slot): void => void slot.starting.then((environment) => environment.shutDown());

/** Whether the event loop has computed in nearly the whole time since the previous call. */
function isLagging(slot: Slot): boolean {
  if (slot.started === undefined) return false;
  const { eventLoopUtilization } = slot.started.worker.performance;
  const before = slot.utilization;
  slot.utilization = eventLoopUtilization();
  return (
    before !== undefined && eventLoopUtilization(slot.utilization, before).utilization >= LAGGING_UTILIZATION
  );
}
