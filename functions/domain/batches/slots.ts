import { interrupted, ReplyAborted } from '#domain/chats/collect-reply.ts';
import type { Workspace } from '#domain/workspaces/workspace.ts';
import { type Batch, isAlive, leftOf, type OwnedSlot, requestsPerGroup, type Slot } from './batch.ts';
import type { BatchKey, Services } from './batch-store.ts';

export type SlotServices = Services<'batchQueue' | 'batches' | 'clock' | 'queueSettings'>;

/** Milliseconds until the slot of a due message is silent: less than the minute between two runs of the reconciler. */
export const messageMilliseconds = 55_000;

/** The first epoch of each new slot is a multiple of this number. A slot has far fewer owners. */
export const epochsPerSlot = 1_000_000;

const fewestPerSlot = 2 * requestsPerGroup;

export async function shareOf(
  { batches, queueSettings }: Services<'batches' | 'queueSettings'>,
  workspaceId: string,
): Promise<number> {
  const open = await batches.countOpen(workspaceId);
  return Math.max(Math.floor(queueSettings.workspaceSlots / Math.max(open, 1)), 1);
}

/**
 * Also takes silent slots from their owners and sends their messages again.
 * @param isFirst also sends the messages of slots that never had an owner: an earlier call may have crashed before it
 *   sent them
 */
export async function topUpSlots(services: SlotServices, batch: Batch, isFirst = false): Promise<void> {
  if (batch.stop !== null) return;
  const now = services.clock.now().getTime();
  const isSilent = ({ epoch, until }: Slot): boolean =>
    until < now || (isFirst && epoch % epochsPerSlot === 0);
  const numbers = Object.keys(batch.slots).map(Number);
  const silent = numbers.filter((number) => isSilent(batch.slots[number] as Slot));
  const share = await shareOf(services, batch.workspaceId);
  const requestsPerSlot = Math.max(services.queueSettings.requestsPerWorker, fewestPerSlot);
  const wanted = Math.min(share, Math.ceil(leftOf(batch) / requestsPerSlot));
  const missing = Array.from({ length: share }, (_, index) => index + 1)
    .filter((number) => !numbers.includes(number))
    .slice(0, Math.max(wanted - numbers.length, 0));
  const offered = [...silent, ...missing];
  if (offered.length === 0) return;
  const changed = await services.batches.topUp(batch, offered, now + messageMilliseconds);
  if (changed === undefined) return;
  await services.batchQueue.send(
    offered.map((slot) => ({
      ...{ workspaceId: batch.workspaceId, batchId: batch.id, slot },
      epoch: (changed.slots[slot] as Slot).epoch,
    })),
  );
}

export function needsCheck(batch: Batch, now: number): boolean {
  if (batch.stop !== null) return !Object.values(batch.slots).some((slot) => isAlive(slot, now));
  if (now >= Date.parse(batch.expiresAt)) return true;
  return batch.slotsMade > 0 && leftOf(batch) === 0 && Object.keys(batch.slots).length === 0;
}

/** Makes the workflow check the batch. A needless call does no harm. Returns false if no task waits. */
export async function completeTaskCallback(
  services: Services<'batchWorkflow' | 'batches'>,
  batch: BatchKey,
): Promise<boolean> {
  const token = await services.batches.taskToken(batch);
  return token !== undefined && (await services.batchWorkflow.completeTaskCallback(token));
}

/** Call it only while the batch is open or its webhook is undelivered. */
export async function restartExecution(
  services: Services<'batchWorkflow' | 'batches' | 'log'>,
  batch: Batch,
): Promise<void> {
  const state = await services.batchWorkflow.stateOf(batch);
  if (state === 'running') return;
  if (state === 'none') return services.batchWorkflow.start(batch);
  const restarted = await services.batches.incrementExecutionNumber(batch);
  // Another caller may be starting the execution. If none does, the reconciler starts it.
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
 * Milliseconds. A worker takes requests for up to a third less, to spread the hand-backs of workers that began
 * together. By default, its last requests may then wait 240 s in the buffer and run for 240 s, within the 900 s of the
 * function.
 */
const longestTaking = 300_000;

/** If a workspace uses all its slots and messages wait in the queue, about this many workers begin to end per beat. */
const handBacksPerBeat = 2;

const waitAfterBreak = 5000;

interface Rest {
  /** Unless the worker broke: whether it may leave requests besides new ones and those that wait for a retry. */
  hasStarted: boolean;
  firstDue: number | undefined;
}

export class SlotOwner {
  readonly slot: OwnedSlot;
  /** Undefined until the workspace was read as enabled. */
  workspace: Workspace | undefined;
  readonly #services: OwnerServices;
  readonly #ending = new AbortController();
  /** After its abort, the worker begins no further take. */
  readonly ending = this.#ending.signal;
  readonly #lost = new AbortController();
  readonly lost = this.#lost.signal;
  readonly #takesUntil: number;
  #batch: Batch;
  #share = 0;
  #takes = 0;
  #isBroken = false;

  constructor(services: OwnerServices, batch: Batch, slot: OwnedSlot) {
    this.#services = services;
    this.#batch = batch;
    this.slot = slot;
    this.#takesUntil = this.#now() + longestTaking * (1 - services.random() / 3);
  }

  #now = (): number => this.#services.clock.now().getTime();

  get batch(): Batch {
    return this.#batch;
  }

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

  /** Also stops the batch if the workspace is disabled or deleted. */
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
    // If this stop changes nothing, the worker ends all the same.
    this.#batch = (await batches.stop(this.#batch, stop)) ?? { ...this.#batch, stop };
  }

  /** Leaves new requests for other workers: a take is at most an equal part, rounded up to a group. */
  groupsToTake(idleCapacity: number): number {
    const left = leftOf(this.#batch);
    if (this.slot.number > this.#share || left === 0) return 0;
    const slots = Math.max(Object.keys(this.#batch.slots).length, 1);
    return Math.min(
      Math.ceil(left / (requestsPerGroup * slots)),
      Math.max(2, Math.ceil(idleCapacity / requestsPerGroup)),
    );
  }

  /** @returns the indexes that the take covers; undefined if the batch is stopped or the slot is lost */
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

  /** Renews the slot first if less than half a lease is left: a worker that was frozen may have lost it. */
  isOwner = async (): Promise<boolean> => {
    const { lease } = this.#services.replySettings;
    const untilOf = ({ slots }: Batch): number => slots[this.slot.number]?.until ?? 0;
    while (!this.lost.aborted && untilOf(this.#batch) - this.#now() < lease / 2) await this.renew();
    return !this.lost.aborted;
  };

  async renew(): Promise<void> {
    const { batches, batchQueue, queueSettings, random, replySettings } = this.#services;
    const batch = await batches.renew(this.#batch, this.slot, this.#now() + replySettings.lease);
    if (batch === undefined) return this.lose();
    // If a take has ended meanwhile, `#batch` may be newer than this batch.
    if (batch.next >= this.#batch.next || batch.stop !== null) this.#batch = batch;
    await this.#readShare();
    if (this.isEnding()) return;
    const mustHandBack = this.slot.number > this.#share || this.#now() >= this.#takesUntil;
    const mayHandBack = random() < handBacksPerBeat / queueSettings.workspaceSlots;
    if (mustHandBack || (mayHandBack && (await batchQueue.isFilled()))) this.end();
  }

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
    // If no task waits, the execution may be lost. The reconciler would replace it later.
    if (!(await completeTaskCallback(this.#services, batch))) await restartExecution(this.#services, batch);
  }
}
