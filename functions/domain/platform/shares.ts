import { ServiceError } from '#contract/errors.ts';
import type { Pool } from '#contract/limits.ts';
import type { Cancel, Clock, Log } from './services.ts';

/** By pool and workspace. The name `''` stands for the workspaces that are not named. */
export type Slots = Readonly<Partial<Record<Pool, Readonly<Record<string, number>>>>>;

export interface SlotReport {
  process: string;
  /** Milliseconds since 1970. */
  at: number;
  slots: Slots;
}

export interface SlotReports {
  put(report: SlotReport): Promise<void>;
  /** May contain those of processes that have ended. */
  all(): Promise<SlotReport[]>;
}

export type Leave = () => void;

/** Processes of readers and of webhooks serve one request at a time, so they report even a single slot. */
const reportsFrom: Readonly<Record<Pool, number>> = {
  replies: 16,
  uploads: 16,
  preparations: 16,
  readers: 1,
  webhooks: 1,
};

const interval = 5000;

/**
 * In milliseconds. A report that was read may count for this time again, so the slots of a killed process may count
 * for about twice as long.
 */
const validity = 30_000;

/** For each pool of a report. The other workspaces are counted together, so that the report stays small. */
const namedWorkspaces = 12;

/**
 * A workspace may have as many slots of a pool as are free, at least one. This leaves room for others (the dynamic
 * thresholds of Choudhury and Hahne, 1998). The counts are of the whole stage, as far as its processes report them.
 */
export class Shares {
  private readonly services: { clock: Clock; log: Log; reports: SlotReports };
  private readonly process: string;
  private readonly sizeOf: (pool: Pool) => number;
  private readonly pools = new Map<Pool, SharedPool>();
  private reported: readonly SlotReport[] = [];
  private exchangedAt = Number.NEGATIVE_INFINITY;
  private exchanging: Promise<void> | undefined;
  private cancelNext: Cancel | undefined;
  private isCounted = false;

  constructor(services: Shares['services'], process: string, sizeOf: (pool: Pool) => number) {
    this.services = services;
    this.process = process;
    this.sizeOf = sizeOf;
  }

  /** @throws rateLimited if the workspace has its whole share already */
  take(name: Pool, workspaceId: string): Leave {
    const pool = this.pool(name);
    if (pool.hasShare(workspaceId)) throw tooManyOpen();
    const leave = pool.give(workspaceId);
    this.schedule();
    return leave;
  }

  /**
   * Workspaces that wait take turns.
   * @throws the reason of the signal, if it aborts before the call gets a slot
   */
  wait(name: Pool, workspaceId: string, signal: AbortSignal): Promise<Leave> {
    const entered = this.pool(name).enter(workspaceId, signal);
    this.schedule();
    return entered;
  }

  /**
   * For a process that serves one request at a time: it first reports its own slot and reads the other reports.
   * @returns undefined if the workspace has its whole share already
   */
  async join(name: Pool, workspaceId: string): Promise<(() => Promise<void>) | undefined> {
    const pool = this.pool(name);
    const reported = pool.give(workspaceId);
    await this.exchangeAnew();
    reported();
    if (pool.hasShare(workspaceId)) {
      await this.exchangeAnew();
      return undefined;
    }
    const leave = pool.give(workspaceId);
    return async () => {
      leave();
      await this.exchangeAnew();
    };
  }

  /** An exchange that is under way may have missed the latest change of the slots. */
  private async exchangeAnew(): Promise<void> {
    await this.exchanging;
    await this.exchange();
  }

  private pool(name: Pool): SharedPool {
    this.forgetOldReports();
    const known = this.pools.get(name);
    if (known !== undefined) return known;
    const pool = new SharedPool(this.sizeOf(name));
    pool.others = totalsOf(this.reported, name);
    this.pools.set(name, pool);
    return pool;
  }

  /** A process with few slots reads no reports, so what it has read before must not reject requests for ever. */
  private forgetOldReports(): void {
    if (this.services.clock.now().getTime() - this.exchangedAt < validity) return;
    this.reported = [];
    for (const pool of this.pools.values()) pool.others = new Map();
  }

  private isBusy(): boolean {
    return [...this.pools].some(([name, pool]) => pool.demand >= reportsFrom[name] || pool.awaitsOthers);
  }

  private schedule(): void {
    if (this.cancelNext !== undefined || this.exchanging !== undefined) return;
    if (!this.isBusy() && !this.isCounted) return;
    const { clock } = this.services;
    const delay = Math.max(0, this.exchangedAt + interval - clock.now().getTime());
    this.cancelNext = clock.after(delay, () => void this.exchange());
  }

  /** Never rejects. Concurrent calls share one exchange. */
  private exchange(): Promise<void> {
    this.cancelNext?.();
    this.cancelNext = undefined;
    this.exchanging ??= this.compare().finally(() => {
      this.exchanging = undefined;
      for (const pool of this.pools.values()) pool.serveWaiting();
      this.schedule();
    });
    return this.exchanging;
  }

  private async compare(): Promise<void> {
    const { clock, log, reports } = this.services;
    const at = clock.now().getTime();
    const isValid = (report: SlotReport) => report.process !== this.process && at - report.at < validity;
    this.exchangedAt = at;
    this.isCounted = this.isBusy();
    try {
      await reports.put({ process: this.process, at, slots: this.isCounted ? slotsOf(this.pools) : {} });
      this.reported = (await reports.all()).filter(isValid);
    } catch (error) {
      log.warn('The slots that other processes have given are not known', { error });
      this.reported = this.reported.filter(isValid);
    }
    for (const [name, pool] of this.pools) pool.others = totalsOf(this.reported, name);
  }
}

class SharedPool {
  readonly own = new Map<string, number>();
  others: ReadonlyMap<string, number> = new Map();
  private readonly waiting = new Map<string, (() => void)[]>();
  private readonly size: number;

  constructor(size: number) {
    this.size = size;
  }

  get demand(): number {
    return sumOf(this.own.values()) + [...this.waiting.values()].flat().length;
  }

  get awaitsOthers(): boolean {
    return this.waiting.size > 0 && this.others.size > 0;
  }

  /** A workspace without a slot always gets one, because a process had room for its request. */
  hasShare(workspaceId: string): boolean {
    const free = this.size - sumOf(this.own.values()) - sumOf(this.others.values());
    return countOf(this.own, workspaceId) + countOf(this.others, workspaceId) >= Math.max(1, free);
  }

  give(workspaceId: string): Leave {
    this.own.set(workspaceId, countOf(this.own, workspaceId) + 1);
    let hasLeft = false;
    return () => {
      if (hasLeft) return;
      hasLeft = true;
      const rest = countOf(this.own, workspaceId) - 1;
      if (rest === 0) this.own.delete(workspaceId);
      else this.own.set(workspaceId, rest);
      this.serveWaiting();
    };
  }

  async enter(workspaceId: string, signal: AbortSignal): Promise<Leave> {
    signal.throwIfAborted();
    const calls = this.waiting.get(workspaceId) ?? [];
    if (calls.length === 0 && !this.hasShare(workspaceId)) return this.give(workspaceId);
    const { promise, resolve, reject } = Promise.withResolvers<Leave>();
    const enter = (): void => {
      signal.removeEventListener('abort', giveUp);
      resolve(this.give(workspaceId));
    };
    const giveUp = (): void => {
      calls.splice(calls.indexOf(enter), 1);
      if (calls.length === 0) this.waiting.delete(workspaceId);
      reject(signal.reason);
    };
    signal.addEventListener('abort', giveUp, { once: true });
    calls.push(enter);
    this.waiting.set(workspaceId, calls);
    return promise;
  }

  serveWaiting(): void {
    for (let hasGiven = true; hasGiven; ) {
      hasGiven = false;
      for (const [workspaceId, calls] of [...this.waiting]) {
        if (this.hasShare(workspaceId)) continue;
        this.waiting.delete(workspaceId);
        calls.shift()?.();
        if (calls.length > 0) this.waiting.set(workspaceId, calls);
        hasGiven = true;
      }
    }
  }
}

export const tooManyOpen = () =>
  new ServiceError('rateLimited', 'Too many requests of the workspace are open: try again in 1 s', {
    retryAfter: 1,
  });

const countOf = (counts: ReadonlyMap<string, number>, workspaceId: string): number =>
  counts.get(workspaceId) ?? 0;

const sumOf = (counts: Iterable<number>): number => [...counts].reduce((sum, count) => sum + count, 0);

function slotsOf(pools: ReadonlyMap<Pool, SharedPool>): Slots {
  const slots: Partial<Record<Pool, Record<string, number>>> = {};
  for (const [pool, { own }] of pools) {
    const named = [...own].sort(([, one], [, other]) => other - one);
    const rest = sumOf(named.splice(namedWorkspaces).map(([, count]) => count));
    slots[pool] = Object.fromEntries(rest === 0 ? named : [...named, ['', rest]]);
  }
  return slots;
}

function totalsOf(reports: readonly SlotReport[], pool: Pool): ReadonlyMap<string, number> {
  const totals = new Map<string, number>();
  for (const { slots } of reports)
    for (const [workspaceId, count] of Object.entries(slots[pool] ?? {}))
      totals.set(workspaceId, countOf(totals, workspaceId) + count);
  return totals;
}
