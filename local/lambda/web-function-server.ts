import { Agent } from 'node:http';
import { availableParallelism } from 'node:os';
import type { EventLoopUtilization } from 'node:perf_hooks';
import { createThrottle } from '../wire/throttle.ts';
import { callEnvironment, platformResponse, type WebRequest, type WebResponse } from './call-environment.ts';
import { IDLE_MILLISECONDS } from './function-pool.ts';
import {
  type Environment,
  startEnvironment,
  type WebFunctionDefinition,
} from './web-function-environment.ts';

// An environment is lagging if its event loop has computed for this share of a whole window.
const LAGGING_UTILIZATION = 0.95;
const WINDOW_MILLISECONDS = 1000;
// Lag starts no environment if a function has this many. One processor less, for the gateway and the emulators.
const MAX_COMPUTING = availableParallelism() - 1;

interface Slot {
  readonly starting: Promise<Environment>;
  requests: number;
  idleSince: number;
  utilization: EventLoopUtilization | undefined;
  started: Environment | undefined;
}

/** May start another environment when all are full, or when one lags. */
export class WebFunctionServer {
  readonly logicalId: string;
  readonly functionName: string;
  readonly #definition: WebFunctionDefinition;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #throttle = createThrottle<WebFunctionServer>();
  readonly #slots = new Set<Slot>();
  readonly #watch = setInterval(() => this.#adapt(), WINDOW_MILLISECONDS).unref();

  constructor(definition: WebFunctionDefinition) {
    this.logicalId = definition.logicalId;
    this.functionName = definition.functionName;
    this.#definition = definition;
  }

  async send(request: WebRequest): Promise<WebResponse> {
    const slot = this.#isTooFast() ? undefined : this.#freest();
    if (slot === undefined) return platformResponse(429, 'Platform.Throttled');
    slot.requests += 1;
    const release = () => {
      slot.requests -= 1;
      slot.idleSince = Date.now();
    };
    const environment = await listening(slot).catch(() => undefined);
    if (environment === undefined) {
      release();
      return platformResponse(502, 'Runtime.InitError');
    }
    const response = await callEnvironment(request, this.#agent, environment.address, this.#definition);
    response.body.once('close', release);
    return response;
  }

  async prewarm(): Promise<void> {
    if (this.#slots.size === 0) await listening(this.#start()).catch(() => undefined);
  }

  environments(): readonly { readonly busy: boolean }[] {
    return [...this.#slots].map(({ requests }) => ({ busy: requests > 0 }));
  }

  kill(): number {
    return this.#endOldest(
      this.#slots.size,
      (slot) => void slot.starting.then(({ worker }) => worker.terminate(), nothing),
    );
  }

  /** Sends a SIGTERM to the oldest environments, then ends them. Returns how many. */
  shutDown(count: number): number {
    return this.#endOldest(count, shutDownSlot);
  }

  async close(): Promise<void> {
    this.#agent.destroy();
    clearInterval(this.#watch);
    await Promise.all(
      [...this.#slots].map(async ({ starting }) =>
        (await starting.catch(() => undefined))?.worker.terminate(),
      ),
    );
  }

  /** Lambda does not document how it counts the requests of a second. Here, all of them may come at once. */
  #isTooFast(): boolean {
    const { requestsPerSecond: rate } = this.#definition.limits;
    return rate !== undefined && !this.#throttle.take(this, { perSecond: rate, burst: rate });
  }

  /** If all are full, starts another one; undefined if the function may have no other. */
  #freest(): Slot | undefined {
    const { maxEnvironments, requestsPerEnvironment } = this.#definition.limits;
    const open = [...this.#slots].filter(({ requests }) => requests < requestsPerEnvironment);
    const warm = open.filter(({ started }) => started !== undefined);
    const [freest] = (warm.length > 0 ? warm : open).sort((one, other) => one.requests - other.requests);
    return freest ?? (this.#slots.size < maxEnvironments ? this.#start() : undefined);
  }

  #start(): Slot {
    const slot: Slot = {
      starting: startEnvironment(this.#definition, () => void this.#slots.delete(slot)),
      requests: 0,
      idleSince: Date.now(),
      utilization: undefined,
      started: undefined,
    };
    this.#slots.add(slot);
    listening(slot).then(
      (environment) => {
        slot.started = environment;
      },
      () => this.#slots.delete(slot),
    );
    return slot;
  }

  #adapt(): void {
    const maxComputing = Math.min(MAX_COMPUTING, this.#definition.limits.maxEnvironments);
    const now = Date.now();
    for (const slot of this.#slots) {
      if (slot.requests === 0 && now - slot.idleSince > IDLE_MILLISECONDS) {
        this.#slots.delete(slot);
        shutDownSlot(slot);
      } else if (isLagging(slot) && this.#slots.size < maxComputing) this.#start();
    }
  }

  #endOldest(count: number, end: (slot: Slot) => void): number {
    const ending = [...this.#slots].slice(0, count);
    for (const slot of ending) {
      this.#slots.delete(slot);
      end(slot);
    }
    return ending.length;
  }
}

async function listening({ starting }: Slot): Promise<Environment> {
  const environment = await starting;
  await environment.listening;
  return environment;
}

/** If `starting` rejects, there is no environment to end. */
const nothing = (): void => undefined;

const shutDownSlot = (slot: Slot): void =>
  void slot.starting.then((environment) => environment.shutDown(), nothing);

/** By the utilization of the event loop since the slot's previous check; false at the first one. */
function isLagging(slot: Slot): boolean {
  if (slot.started === undefined) return false;
  const { eventLoopUtilization } = slot.started.worker.performance;
  const before = slot.utilization;
  slot.utilization = eventLoopUtilization();
  return (
    before !== undefined && eventLoopUtilization(slot.utilization, before).utilization >= LAGGING_UTILIZATION
  );
}
