import { interrupted, ReplyAborted } from '#domain/chats/collect-reply.ts';
import type { Workspace } from '#domain/workspaces/workspace.ts';
import { type Batch, leftOf, type OwnedSlot, requestsPerGroup } from './batch.ts';
import type { Services } from './batch-store.ts';
import {
  completeTaskCallback,
  messageMilliseconds,
  needsCheck,
  type SlotServices,
  shareOf,
} from './slots.ts';

/**
 * Starts the execution of a batch if it was never started. If the execution has ended, starts the execution with the
 * next number: call this only while the batch is open or its webhook is undelivered. Does nothing while it runs.
 */
export async function restartExecution(
  services: Services<'batchWorkflow' | 'batches' | 'log'>,
  batch: Batch,
): Promise<void> {
  const state = await services.batchWorkflow.stateOf(batch);
  if (state === 'running') return;
  if (state === 'none') return services.batchWorkflow.start(batch);
  const restarted = await services.batches.incrementExecutionNumber(batch);
  // If the number has changed meanwhile, another caller starts the execution.
  if (restarted === undefined) return;
  services.log.warn('A batch is taken up by a new execution', {
    batchId: batch.id,
    executionNumber: restarted.executionNumber,
  });
  await services.batchWorkflow.start(restarted);
}

export type OwnerServices = SlotServices &
  Services<'batchWorkflow' | 'log' | 'random' | 'replySettings' | 'workspaces'>;

/**
 * Milliseconds for which a worker takes requests. Each worker takes up to a third less, so that workers that began
 * together do not hand back together. Its last requests may then wait 240 s in the buffer and run for 240 s. The sum is
 * less than the function's 900 s.
 */
const longestTaking = 300_000;

/**
 * While slots wait in the queue for a worker, each worker ends at a beat, and puts its own slot into the queue, with the
 * probability of this number divided by the slots of the workspace. So about this many workers of a workspace that uses
 * all its slots end at each beat, and the waiting slots get workers.
 */
const handBacksPerBeat = 2;

/** Milliseconds until the next worker gets a slot whose worker has ended because of an error of the service. */
const waitAfterBreak = 5000;

/** The work that a worker leaves to the next one, except new requests. */
interface Rest {
  /** Whether there are requests that the next worker can continue without a wait. */
  hasStarted: boolean;
  /** Epoch milliseconds of the first retry; undefined if none waits. */
  firstDue: number | undefined;
}

/** A worker's ownership of its slot. */
export class SlotOwner {
  readonly slot: OwnedSlot;
  /** Undefined until the workspace was read as enabled. */
  workspace: Workspace | undefined;
  readonly #services: OwnerServices;
  readonly #ending = new AbortController();
  /** Aborted when the worker must start no further requests, except those that it has claimed. */
  readonly ending = this.#ending.signal;
  readonly #lost = new AbortController();
  /** Aborted when this worker does not own the slot any more. */
  readonly lost = this.#lost.signal;
  readonly #takesUntil: number;
  #batch: Batch;
  #share = 0;
  #takes = 0;
  /** Whether a call has failed. Then the next worker looks for leftovers. */
  #isBroken = false;

  constructor(services: OwnerServices, batch: Batch, slot: OwnedSlot) {
    this.#services = services;
    this.#batch = batch;
    this.slot = slot;
    this.#takesUntil = this.#now() + longestTaking * (1 - services.random() / 3);
  }

  #now = (): number => this.#services.clock.now().getTime();

  /** The batch as it was read last. */
  get batch(): Batch {
    return this.#batch;
  }

  /** Whether the batch is stopped or has expired, so that it starts no further requests. */
  #isOver = (): boolean => this.#batch.stop !== null || this.#now() >= Date.parse(this.#batch.expiresAt);

  isEnding(): boolean {
    if (this.#isOver()) this.end();
    return this.ending.aborted;
  }

  end(): void {
    this.#ending.abort();
  }

  break(error: unknown): void {
    this.#services.log.error('A worker of a batch failed', { batchId: this.#batch.id, error });
    this.#isBroken = true;
    this.end();
  }

  lose(): void {
    this.#lost.abort(new ReplyAborted('lease-lost', interrupted));
    this.end();
  }

  /**
   * Reads the workspace, and the number of slots that each of its batches may have. Stops the batch if the workspace is
   * disabled or deleted.
   */
  async start(): Promise<void> {
    await Promise.all([this.readWorkspace(), this.#readShare()]);
  }

  async #readShare(): Promise<void> {
    this.#share = await shareOf(this.#services, this.#batch.workspaceId);
  }

  async readWorkspace(): Promise<void> {
    const { batches, clock, workspaces } = this.#services;
    const workspace = await workspaces.get(this.#batch.workspaceId);
    if (workspace?.enabled === true) {
      this.workspace = workspace;
      return;
    }
    const stop = { reason: 'failed', at: clock.now().toISOString() } as const;
    // If this stop changes nothing, another caller has stopped the batch before.
    this.#batch = (await batches.stop(this.#batch, stop)) ?? { ...this.#batch, stop };
  }

  /**
   * Number of request groups for the next take; 0 if no new requests are left, or the slot is beyond the share of its
   * batch. A take is at most an equal part of the new requests, so that no worker is idle while others have requests in
   * their buffers.
   * @param idleCapacity number of further requests that the worker can process at once
   */
  groupsToTake(idleCapacity: number): number {
    const left = leftOf(this.#batch);
    if (this.slot.number > this.#share || left === 0) return 0;
    const slots = Math.max(Object.keys(this.#batch.slots).length, 1);
    return Math.min(
      Math.ceil(left / (requestsPerGroup * slots)),
      Math.max(2, Math.ceil(idleCapacity / requestsPerGroup)),
    );
  }

  /**
   * Starts groups of new requests, and the named requests.
   * @param named requests by their index, with the numbers of their attempts
   * @returns the indexes of the new requests; undefined if the batch is stopped, or the slot is lost: then the worker
   *   must end
   */
  async take(groups: number, named: Readonly<Record<number, number>>): Promise<number[] | undefined> {
    const { number } = this.slot;
    const size = groups * requestsPerGroup;
    const owned = { ...this.slot, takes: this.#takes };
    const batch = await this.#services.batches.take(this.#batch, owned, { size, named });
    if (batch === undefined) {
      await this.#readBatch();
      return undefined;
    }
    this.#takes += 1;
    this.#batch = batch;
    const { first = 0 } = batch.slots[number] ?? {};
    return Array.from({ length: Math.min(size, batch.total - first) }, (_, index) => first + index);
  }

  async #readBatch(): Promise<void> {
    const { workspaceId, id } = this.#batch;
    const batch = await this.#services.batches.get(workspaceId, id);
    if (batch?.slots[this.slot.number]?.epoch !== this.slot.epoch) return this.lose();
    this.#batch = batch;
    if (batch.stop === null) throw new Error('A take failed, and its batch is not stopped');
    this.end();
  }

  /**
   * Whether this worker owns the slot for at least half the length of a lease. A worker that was frozen may have lost
   * the slot without knowing it, so the method first renews the slot if it has less time left.
   */
  isOwner = async (): Promise<boolean> => {
    const { lease } = this.#services.replySettings;
    const untilOf = ({ slots }: Batch): number => slots[this.slot.number]?.until ?? 0;
    while (!this.lost.aborted && untilOf(this.#batch) - this.#now() < lease / 2) await this.renew();
    return !this.lost.aborted;
  };

  /** Renews the slot, and ends the worker if it must end or hand back its slot. */
  async renew(): Promise<void> {
    const { batches, batchQueue, queueSettings, random, replySettings } = this.#services;
    const batch = await batches.renew(this.#batch, this.slot, this.#now() + replySettings.lease);
    if (batch === undefined) return this.lose();
    // If a take has ended meanwhile, `#batch` is newer than this batch.
    if (batch.next >= this.#batch.next || batch.stop !== null) this.#batch = batch;
    await this.#readShare();
    if (this.isEnding()) return;
    const mustHandBack = this.slot.number > this.#share || this.#now() >= this.#takesUntil;
    const mayHandBack = random() < handBacksPerBeat / queueSettings.workspaceSlots;
    if (mustHandBack || (mayHandBack && (await batchQueue.isFilled()))) this.end();
  }

  /**
   * Passes the slot to the next worker if the batch continues and there is work. Otherwise removes the slot, and makes
   * the workflow check the batch if there is something to do. Does nothing if the slot is lost.
   */
  async leave({ hasStarted, firstDue }: Rest): Promise<void> {
    if (this.lost.aborted) return;
    const { batches, batchQueue } = this.#services;
    const hasNew = leftOf(this.#batch) > 0 && this.slot.number <= this.#share;
    const hasWork = this.#isBroken || hasStarted || firstDue !== undefined;
    if (this.#isOver() || !(hasWork || hasNew)) return this.#retire();
    const wait = hasStarted || hasNew ? 0 : Math.max((firstDue ?? 0) - this.#now(), 0);
    const delay = this.#isBroken ? waitAfterBreak : wait;
    const until = this.#now() + messageMilliseconds + delay;
    if ((await batches.pass(this.#batch, this.slot, { until, isClean: !hasWork })) === undefined) return;
    const { number, epoch } = this.slot;
    const message = { workspaceId: this.#batch.workspaceId, batchId: this.#batch.id, slot: number, epoch };
    await batchQueue.send([message], Math.ceil(delay / 1000));
  }

  async #retire(): Promise<void> {
    const batch = await this.#services.batches.retire(this.#batch, this.slot);
    if (batch === undefined || !needsCheck(batch, this.#now())) return;
    // If no task waits, the execution may be lost. The reconciler would replace it up to a minute later.
    if (!(await completeTaskCallback(this.#services, batch))) await restartExecution(this.#services, batch);
  }
}
