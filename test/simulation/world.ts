import type { SlotMessage } from '#domain/batches/batch-store.ts';
import type { Erasure, Purge } from '#domain/chats/purge.ts';
import { memoryContentStore } from '#support/memory-objects.ts';
import { MemoryTable } from '#support/memory-table/memory-table.ts';
import { actAsBatchClient, actAsClient, actAsOperator, newLedger } from './actors.ts';
import { checkRetention, retainChats, retentionName, watchRetention } from './check-retention.ts';
import { isDelayed, watchSlots } from './check-slots.ts';
import { checkTraces, watchFiles } from './check-traces.ts';
import { checkWorld } from './check-world.ts';
import { Checks } from './checks.ts';
import { type Coverage, type FaultPlan, type Plan, planFaults } from './faults.ts';
import { hasPurgesOrWebhooks, watchItems } from './items.ts';
import { type PaidCall, scriptedProvider } from './model.ts';
import { type Operations, type Outside, operationsOf } from './operations.ts';
import { CallFailed, Process, type Surroundings } from './process.ts';
import { Queue } from './queue.ts';
import { Timeline } from './timeline.ts';
import { Workflow } from './workflow.ts';

const minute = 60_000;

/** Worlds have 2,800 events on average, and hardly ever 5,000. */
const mostEvents = 20_000;

/** One life of the service, with clients, operators, queues and faults, in virtual time. */
export class World implements Surroundings {
  readonly timeline: Timeline;
  readonly table: MemoryTable;
  readonly faults: FaultPlan;
  readonly coverage: Coverage = {};
  readonly checks: Checks;
  readonly ledger = newLedger();
  /** The files that a stored message has ever had. */
  readonly usedFiles: ReadonlySet<string>;
  readonly calls: PaidCall[] = [];
  readonly deliveries: { key: string; status: number; body: string }[] = [];
  readonly workspaces = ['ws-1', 'ws-2', 'ws-3'];
  readonly history: string[] = [];
  readonly outside: Outside;
  readonly operations: Operations;
  /** Until then, clients act. */
  readonly activeUntil: number;
  readonly hasOneBusyWorkspace: boolean;
  isOver = false;
  caller?: Process;
  disturbedUntil = 0;
  hasLostExecution = false;
  /** Chats in which a write that was long under way has stored the message of a request that had ended. */
  readonly delayedTurns = new Set<string>();
  /** Is called with the partition of a batch whose slots are gone because all its requests were taken. */
  onIdle: (batch: string) => void = () => undefined;
  /** Then nothing happens by a schedule. */
  isQuiet = false;
  readonly #hasFaults: boolean;
  readonly #sharesProcess: boolean;
  #webProcess: Process | undefined;
  #names = 0;
  #processes = 0;
  #running = 0;

  constructor(seed: number, plan: Plan, hasFaults = true) {
    const timeline = new Timeline(seed);
    this.timeline = timeline;
    this.table = new MemoryTable(() => timeline.now);
    this.faults = planFaults(seed, timeline, plan);
    this.#hasFaults = hasFaults;
    this.checks = new Checks((line) => this.note(line));
    this.activeUntil = timeline.now + timeline.between(minute, 2.5 * minute);
    this.#sharesProcess = timeline.chance(0.5);
    this.hasOneBusyWorkspace = timeline.chance(0.4);
    this.outside = this.#makeOutside();
    watchItems(this.table, timeline, this.checks, () => isDelayed(this));
    this.usedFiles = watchFiles(this.table);
    watchRetention(this);
    watchSlots(this);
    this.operations = operationsOf(this.outside);
  }

  note(line: string): void {
    const seconds = ((this.timeline.now - this.timeline.start) / 1000).toFixed(3).padStart(9);
    this.history.push(`${seconds} ${line}`);
  }

  /** A name that nothing else of the world has. */
  nextName(kind: string): string {
    this.#names += 1;
    return `${kind} ${this.#names}`;
  }

  agentOf(workspaceId: string): string {
    return `agent-of-${workspaceId}`;
  }

  /** Calls an operation as a client, in a process of the service. Ends when the process dies, or after 100 s. */
  async request<Result>(name: string, operation: (process: Process) => Promise<Result>): Promise<Result> {
    const process = this.#processForRequest();
    return this.#within(process, name, operation, 100_000);
  }

  /** Calls an operation as AWS does: in a process of its own, which ends with it. */
  async invoke<Result>(
    name: string,
    operation: (process: Process) => Promise<Result>,
    milliseconds = 900_000,
  ): Promise<Result> {
    const process = this.newProcess(name);
    let hasEnded = false;
    // Lambda ends a function at its timeout.
    const end = () => {
      if (!hasEnded) process.die('at its timeout');
    };
    return this.#within(process, name, operation, milliseconds, end).finally(() => {
      hasEnded = true;
    });
  }

  newProcess(name: string): Process {
    this.#processes += 1;
    return new Process(this, `${name} (process ${this.#processes})`);
  }

  #processForRequest(): Process {
    if (!this.#sharesProcess) return this.newProcess('web');
    if (this.#webProcess === undefined || this.#webProcess.isDead || this.#webProcess.isFrozen)
      this.#webProcess = this.newProcess('shared web');
    return this.#webProcess;
  }

  async #within<Result>(
    process: Process,
    name: string,
    operation: (process: Process) => Promise<Result>,
    milliseconds: number,
    onTimeout: () => void = () => undefined,
  ): Promise<Result> {
    this.#running += 1;
    try {
      return await Promise.race([
        operation(process),
        process.death.then(() => {
          throw new CallFailed(`The process of ${name} has died`);
        }),
        this.timeline.sleep(milliseconds).then(() => {
          onTimeout();
          throw new CallFailed(`There is no response to ${name}`);
        }),
      ]);
    } finally {
      this.#running -= 1;
    }
  }

  #makeOutside(): Outside {
    const { timeline } = this;
    const settings = {
      slots: timeline.pick([1, 2, 3]),
      requestsPerWorker: timeline.pick([2, 4, 8]),
      batchTimeout: timeline.pick([10 * minute, 60 * minute]),
      lease: 30_000,
    };
    const manners = {
      slowest: timeline.pick([2000, 12_000, 40_000]),
      failures: timeline.pick([0, 0.03, 0.1]),
    };
    let ids = 0;
    const workers = { atOnce: 6, visibility: 90 * minute };
    return {
      settings,
      queue: new Queue<SlotMessage>(timeline, {
        ...workers,
        consume: (body) => this.invoke('worker', (process) => this.operations.work(process, body)),
      }),
      purges: new Queue<Purge | Erasure>(timeline, {
        ...{ atOnce: 2, visibility: 6 * minute },
        consume: (purge) => this.invoke('purger', (process) => this.operations.purge(process, purge)),
      }),
      workflow: new Workflow(timeline, settings, {
        dispatch: (input) =>
          this.#execute('dispatch', (process) => this.operations.dispatch(process, input), 2 * minute),
        advance: (input) =>
          this.#execute('advance', (process) => this.operations.advance(process, input), minute),
        deliver: (input) =>
          this.#execute('deliver', (process) => this.operations.deliver(process, input), minute),
      }),
      contents: memoryContentStore(),
      objects: new Set(),
      uuid: () => {
        ids += 1;
        return `id-${String(ids).padStart(5, '0')}`;
      },
      providerOf: (process) => scriptedProvider(process, manners, (call) => this.calls.push(call)),
      receive: (url, body) => this.#receive(url, body),
    };
  }

  /** A function of the workflow. Now and then the workflow gives a slow one up, and calls it again while it goes on. */
  async #execute<Result>(
    name: string,
    operation: (process: Process) => Promise<Result>,
    milliseconds: number,
  ): Promise<Result> {
    const { timeline } = this;
    if (!this.faults.isOn || !timeline.chance(0.05)) return this.invoke(name, operation, milliseconds);
    const work = (process: Process): Promise<Result> => {
      timeline.at(timeline.now + timeline.between(0, 60), () => process.freeze());
      return operation(process);
    };
    this.invoke(name, work, milliseconds).catch(() => undefined);
    await timeline.sleep(timeline.between(500, 10_000));
    throw new CallFailed(`There is no response to ${name}`);
  }

  #receive(url: string, body: string): { status: number; retryAfter: null } {
    const status = this.timeline.chance(0.8) ? 200 : 500;
    this.deliveries.push({ key: decodeURIComponent(url.split('/').at(-1) ?? ''), status, body });
    return { status, retryAfter: null };
  }

  async run() {
    // The agents give way to others by real time, which must decide nothing here.
    const { now } = performance;
    performance.now = () => 0;
    try {
      return await this.#run();
    } finally {
      performance.now = now;
    }
  }

  async #run() {
    let events = 0;
    const life = this.#live();
    let failure: unknown;
    life.catch((error: unknown) => {
      failure = error;
      this.isOver = true;
    });
    await this.timeline.run(() => {
      events += 1;
      return this.isOver || events > mostEvents;
    });
    this.checks.that(
      'a world ends',
      this.isOver && failure === undefined,
      () => `after ${events} events: ${failure === undefined ? 'it goes on' : String(failure)}`,
    );
    return {
      ...{ violations: this.checks.violations, counts: this.checks.counts },
      ...{ coverage: this.coverage, faults: this.faults.count, history: this.history, events },
    };
  }

  async #live(): Promise<void> {
    const { timeline, workspaces, operations } = this;
    const quiet = this.newProcess('operator');
    for (const [index, id] of workspaces.entries()) {
      await operations.createWorkspace(quiet, id, index > 0);
      await operations.publish(quiet, id, this.agentOf(id));
    }
    this.#schedule();
    if (this.#hasFaults) this.faults.start();
    const faultsUntil = this.activeUntil + timeline.between(minute / 2, 3 * minute);
    timeline.at(faultsUntil, () => this.faults.end());
    if (this.#hasFaults) this.#loseThings(faultsUntil);
    const clients = Array.from({ length: 5 }, (_, index) => actAsClient(this, index));
    const batchClients = Array.from({ length: 2 }, (_, index) => actAsBatchClient(this, index));
    const last = timeline.now + this.outside.settings.batchTimeout + 10 * minute;
    await Promise.race([
      Promise.all([...clients, ...batchClients, actAsOperator(this), retainChats(this)]),
      timeline.sleep(last - timeline.now),
    ]);
    await this.#finish(faultsUntil, last);
    checkTraces(this);
    await checkWorld(this);
    await checkRetention(this);
    this.isOver = true;
  }

  /** The schedules of the reconciler. */
  #schedule(): void {
    const { timeline } = this;
    const every = (milliseconds: number, call: () => void): void => {
      timeline.at(timeline.now + milliseconds, () => {
        if (this.isQuiet) return;
        call();
        every(milliseconds, call);
      });
    };
    every(minute, () => {
      this.invoke('reconciler', (process) => this.operations.reconcile(process), 55_000).catch(
        () => undefined,
      );
    });
    every(15_000, () => {
      this.invoke(retentionName, (process) => this.operations.deleteUnused(process), 5 * minute).catch(
        () => undefined,
      );
    });
  }

  /** An execution or the messages of a queue may be lost as a whole. */
  #loseThings(until: number): void {
    const { timeline } = this;
    if (timeline.chance(0.05))
      timeline.at(timeline.between(timeline.now, until), () => {
        const lost = this.outside.workflow.loseOne();
        if (lost === undefined) return;
        this.hasLostExecution = true;
        this.note(`the execution ${lost} is lost`);
        this.disturbedUntil = Math.max(this.disturbedUntil, timeline.now);
      });
    if (timeline.chance(0.03))
      timeline.at(timeline.between(timeline.now, until), () => {
        this.note('the messages of the queue are lost');
        this.outside.queue.lose();
        this.disturbedUntil = Math.max(this.disturbedUntil, timeline.now);
      });
  }

  /** Goes on until all work and all leases have ended. */
  async #finish(faultsUntil: number, last: number): Promise<void> {
    const { timeline } = this;
    const { workflow } = this.outside;
    const isBusy = (): boolean =>
      timeline.now < faultsUntil ||
      this.#running > 0 ||
      [...workflow.executions.values()].some(({ state }) => state !== 'ended') ||
      hasPurgesOrWebhooks(this.table);
    while (isBusy() && timeline.now < last + 30 * minute) await timeline.sleep(10_000);
    // The longest lease of a chat: that of a request of a batch.
    await timeline.sleep(5.5 * minute + 2000);
  }
}
