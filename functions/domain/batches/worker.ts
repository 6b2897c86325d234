import { ReplyAborted } from '#domain/chats/collect-reply.ts';
import { interrupted } from '#domain/chats/gather-reply.ts';
import type { PlatformServices } from '#domain/platform/services.ts';
import type { WorkspaceServices } from '#domain/workspaces/services.ts';
import type { Workspace } from '#domain/workspaces/workspace.ts';
import { type Attempt, type AttemptServices, attemptRequest } from './attempt-request.ts';
import { type Batch, type BatchItem, leftOf, type OwnedSlot, requestsPerGroup } from './batch.ts';
import type { SlotMessage } from './batch-queue.ts';
import {
  type ClaimedRequest,
  type ClaimServices,
  claimRequests,
  prepareRequest,
  type Started,
  takeOver,
} from './claim-requests.ts';
import { completeTaskCallback } from './complete-task-callback.ts';
import { type CountServices, countRequests, type EndedAttempt } from './count-requests.ts';
import { leftoversOf } from './leftovers.ts';
import { waitOf, waitsAtOnce } from './retry-waits.ts';
import type { BatchServices } from './services.ts';
import { messageMilliseconds, needsCheck, type SlotServices, shareOf } from './slots.ts';

export type WorkerServices = ClaimServices &
  AttemptServices &
  CountServices &
  SlotServices &
  Pick<BatchServices, 'batchWorkflow'> &
  Pick<WorkspaceServices, 'workspaces'> &
  Pick<PlatformServices, 'identifiers' | 'random'>;

/**
 * Milliseconds for which a worker takes requests, less up to a third, so that workers that began together do not hand
 * back together. The last requests may then wait 240 s in the buffer and take 240 s: less than the function's 900 s.
 */
const longestTaking = 300_000;

/** While messages wait, about this many workers of a workspace at its limit hand back at each beat. */
const handBacksPerBeat = 2;

/** Works on the slot of a message, unless the message is a duplicate. */
export const workOnSlot =
  (services: WorkerServices) =>
  async ({ workspaceId, batchId, slot, epoch }: SlotMessage): Promise<void> => {
    const owner = {
      name: services.identifiers.uuid(),
      until: services.clock.now().getTime() + services.replySettings.lease,
    };
    const batch = { workspaceId, id: batchId };
    const acquired = await services.batches.acquire(batch, { number: slot, epoch }, owner);
    if (acquired !== undefined)
      await new Worker(services, acquired.batch, acquired.slot).run(acquired.wasClean);
  };

/**
 * The owner of a slot. It takes new requests, and processes up to `requestsPerWorker` at once until each has ended. Then
 * it passes the slot to the next worker, so nothing of a slot is ever with two workers.
 */
class Worker {
  readonly #services: WorkerServices;
  readonly #slot: OwnedSlot;
  #batch: Batch;
  #workspace: Workspace | undefined;
  #share = Number.POSITIVE_INFINITY;
  #takes = 0;
  /** Claimed requests that have not started. */
  #buffer: ClaimedRequest[] = [];
  #lost: BatchItem[] = [];
  #waiting: BatchItem[] = [];
  /** Requests whose predecessors in their histories have ended. */
  #ready: number[] = [];
  #running = 0;
  /** Also until the leftovers are found: a take would overwrite which requests the last one has started. */
  #isFilling = true;
  /** A request that may kill its worker runs alone. */
  #isAlone = false;
  #hasLostSlot = false;
  /** A call has failed, so the next worker finds what is left. */
  #isBroken = false;
  #isHandingBack = false;
  readonly #takesUntil: number;
  #uncounted: EndedAttempt[] = [];
  readonly #attempts = new Set<AbortController>();
  /** Each ends a wait in its place. */
  readonly #sleepers = new Set<() => void>();
  #onIdle: () => void = () => undefined;

  constructor(services: WorkerServices, batch: Batch, slot: OwnedSlot) {
    this.#services = services;
    this.#batch = batch;
    this.#slot = slot;
    this.#takesUntil = this.#now() + longestTaking * (1 - services.random() / 3);
  }

  async run(wasClean: boolean): Promise<void> {
    const stopBeat = this.#startBeat();
    try {
      await this.#readWorkspace();
      if (!wasClean && !this.#isOver()) await this.#findLeftovers();
    } catch (error) {
      this.#break(error);
    }
    this.#isFilling = false;
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
      this.#advance();
    });
    // The last beat starts nothing.
    this.#isHandingBack = true;
    await stopBeat();
    await this.#count();
    if (!this.#hasLostSlot) await this.#leave();
  }

  #now = (): number => this.#services.clock.now().getTime();

  /** Whether the batch starts no request any more. */
  #isOver = (): boolean => this.#batch.stop !== null || this.#now() >= Date.parse(this.#batch.expiresAt);

  /** Whether this worker starts no request any more, but for those in its buffer. */
  #isEnding = (): boolean => this.#hasLostSlot || this.#isBroken || this.#isHandingBack || this.#isOver();

  #break(error: unknown): void {
    this.#services.log.error('A worker of a batch failed', { batchId: this.#batch.id, error });
    this.#isBroken = true;
  }

  async #readWorkspace(): Promise<void> {
    const { batches, clock, workspaces } = this.#services;
    const workspace = await workspaces.get(this.#batch.workspaceId);
    if (workspace?.enabled === true) {
      this.#workspace = workspace;
      return;
    }
    const stop = { reason: 'failed', at: clock.now().toISOString() } as const;
    // Another stop may be first.
    this.#batch = (await batches.stop(this.#batch, stop)) ?? { ...this.#batch, stop };
  }

  async #findLeftovers(): Promise<void> {
    const { batches } = this.#services;
    const { number } = this.#slot;
    const [items, manifest] = await Promise.all([
      batches.allItems(this.#batch),
      batches.manifest(this.#batch),
    ]);
    const slot = this.#batch.slots[number];
    if (slot === undefined) return;
    const { lost, waiting, ready, withoutItem } = leftoversOf(slot, number, items, manifest);
    this.#lost = lost;
    this.#waiting = waiting;
    this.#ready = ready;
    await this.#claim({ block: [], named: withoutItem });
  }

  /** Starts requests, and fills the buffer if it is empty. */
  #advance(): void {
    for (let work = this.#nextWork(); work !== undefined; work = this.#nextWork()) this.#start(work);
    if (this.#shouldFill()) {
      this.#isFilling = true;
      this.#fill()
        .catch((error: unknown) => this.#break(error))
        .then(() => {
          this.#isFilling = false;
          this.#advance();
        });
    }
    if (this.#running === 0 && !this.#isFilling) this.#onIdle();
  }

  #nextWork(): (() => Promise<void>) | undefined {
    if (this.#running >= this.#services.queueSettings.requestsPerWorker || this.#isAlone) return undefined;
    if (this.#hasLostSlot) return undefined;
    const claimed = this.#buffer.shift();
    if (claimed !== undefined) return () => this.#process(claimed);
    const [item] = this.#lost;
    if (item === undefined || this.#isEnding()) return undefined;
    if (item.lostAttempts > 0 && this.#running > 0) return undefined;
    this.#isAlone = item.lostAttempts > 0;
    this.#lost.shift();
    return () => this.#resume(item);
  }

  #start(work: () => Promise<void>): void {
    this.#running += 1;
    work()
      .catch((error: unknown) => this.#break(error))
      .then(() => {
        this.#running -= 1;
        if (this.#running === 0) this.#isAlone = false;
        this.#advance();
      });
  }

  #due = (): BatchItem[] => this.#waiting.filter(({ due }) => (due ?? 0) <= this.#now());

  #shouldFill(): boolean {
    if (this.#isFilling || this.#isEnding() || this.#buffer.length + this.#lost.length > 0 || this.#isAlone)
      return false;
    return this.#ready.length > 0 || this.#due().length > 0 || this.#groupsToTake(0) > 0;
  }

  /** New requests are shared by all slots to the end, so that none is idle while others have requests in their buffers. */
  #groupsToTake(others: number): number {
    const left = leftOf(this.#batch);
    if (this.#slot.number > this.#share || left === 0) return 0;
    const slots = Math.max(Object.keys(this.#batch.slots).length, 1);
    const idle = this.#services.queueSettings.requestsPerWorker - this.#running - others;
    return Math.min(
      Math.ceil(left / (requestsPerGroup * slots)),
      Math.max(2, Math.ceil(idle / requestsPerGroup)),
    );
  }

  /** Takes requests, and claims all of them before the next take. */
  async #fill(): Promise<void> {
    await this.#readWorkspace();
    if (this.#isEnding()) return;
    const { batches, queueSettings } = this.#services;
    const most = Math.max(queueSettings.requestsPerWorker - this.#running, 1);
    const due = this.#due().slice(0, most);
    const ready = this.#ready.slice(0, most - due.length);
    const size = this.#groupsToTake(due.length + ready.length) * requestsPerGroup;
    const named = Object.fromEntries([
      ...due.map(({ requestIndex, attempt }) => [requestIndex, attempt + 1]),
      ...ready.map((requestIndex) => [requestIndex, 1]),
    ]) as Record<number, number>;
    const batch = await batches.take(this.#batch, { ...this.#slot, takes: this.#takes }, { size, named });
    if (batch === undefined) return this.#readBatch();
    this.#takes += 1;
    this.#batch = batch;
    this.#waiting = this.#waiting.filter((item) => !due.includes(item));
    this.#ready = this.#ready.filter((requestIndex) => !ready.includes(requestIndex));
    const { first = 0 } = batch.slots[this.#slot.number] ?? {};
    const block = Array.from({ length: Math.min(size, batch.total - first) }, (_, index) => first + index);
    await Promise.all([this.#claim({ block, named: ready }), ...due.map((item) => this.#takeWaiting(item))]);
  }

  async #readBatch(): Promise<void> {
    const { workspaceId, id } = this.#batch;
    const batch = await this.#services.batches.get(workspaceId, id);
    if (batch?.slots[this.#slot.number]?.epoch !== this.#slot.epoch) return this.#loseSlot();
    this.#batch = batch;
    if (batch.stop === null) throw new Error('A take failed, and its batch is not stopped');
    this.#endSleep();
  }

  async #claim(started: Started): Promise<void> {
    if (started.block.length + started.named.length === 0 || this.#workspace === undefined) return;
    const claimant = { batch: this.#batch, workspace: this.#workspace, slot: this.#slot };
    const { claimed, others } = await claimRequests(this.#services, claimant, started);
    this.#buffer.push(...claimed);
    for (const item of others) {
      if (item.status !== 'processing') continue;
      // Of a write of this worker whose response was lost.
      if (item.epoch === this.#slot.epoch)
        this.#buffer.push(await prepareRequest(this.#services, claimant, item, false));
      else this.#lost.push(item);
    }
  }

  async #takeWaiting(item: BatchItem): Promise<void> {
    const claimed = await this.#takeOver(item);
    if (claimed !== undefined) this.#buffer.push(claimed);
  }

  async #resume(item: BatchItem): Promise<void> {
    const claimed = await this.#takeOver(item);
    if (claimed !== undefined) await this.#process(claimed);
  }

  async #takeOver(found: BatchItem): Promise<ClaimedRequest | undefined> {
    if (this.#workspace === undefined) return undefined;
    const item = await takeOver(this.#services, this.#batch, this.#slot, found);
    const claimant = { batch: this.#batch, workspace: this.#workspace, slot: this.#slot };
    if (item.status === 'waiting') this.#waiting.push(item);
    else if (item.epoch > this.#slot.epoch) this.#loseSlot();
    else {
      const claimed = await prepareRequest(this.#services, claimant, item, found.status === 'processing');
      if (item.status === 'processing') return claimed;
      // A former owner has ended it meanwhile.
      await this.#startNext(claimed);
    }
    return undefined;
  }

  async #startNext({ request: { next } }: ClaimedRequest): Promise<void> {
    if (next === null || (await this.#services.batches.item(this.#batch, next)) !== undefined) return;
    this.#ready.push(next);
  }

  /** Attempts a request until it has ended, has to wait, or is no longer this worker's. */
  async #process(claimed: ClaimedRequest): Promise<void> {
    const { request } = claimed;
    let next: ClaimedRequest | undefined = claimed;
    for (let retries = 0; next !== undefined; retries += 1) {
      const attempt = await this.#attempt(next);
      const { outcome, calls, item } = attempt;
      next = undefined;
      if (outcome === 'success' || outcome === 'failed') {
        this.#uncounted.push({ request, outcome, calls });
        if (request.next !== null) this.#ready.push(request.next);
        continue;
      }
      this.#uncounted.push({ request, outcome: 'attempt', calls });
      if (outcome !== 'lost' && (await this.#canRetryNow(claimed, attempt, retries)))
        next = { ...claimed, item, newChat: null };
    }
  }

  /** Waits in the place of the request, or makes it wait for a place later. @returns whether it may be retried now */
  async #canRetryNow(claimed: ClaimedRequest, attempt: Attempt, retries: number): Promise<boolean> {
    const { item, outcome } = attempt;
    const shortWait = outcome !== 'blocked' && item.attempt === 1 ? waitsAtOnce[retries] : undefined;
    const wait = waitOf(attempt, shortWait);
    const due = this.#now() + wait;
    if (shortWait !== undefined && !this.#isEnding()) await this.#sleep(wait);
    if (shortWait !== undefined && !this.#isEnding()) return true;
    await this.#scheduleRetry(claimed, { ...item, status: 'waiting', due });
    return false;
  }

  async #attempt(claimed: ClaimedRequest): Promise<Attempt> {
    const stop = new AbortController();
    this.#attempts.add(stop);
    try {
      return await attemptRequest(this.#services, this.#batch, claimed, stop);
    } finally {
      this.#attempts.delete(stop);
    }
  }

  async #scheduleRetry(claimed: ClaimedRequest, waiting: BatchItem): Promise<void> {
    const { batches, meter } = this.#services;
    if (await batches.replaceItem(this.#batch, { ...waiting, status: 'processing' }, waiting)) {
      meter.requestsProcessed({ done: 0, failed: 0, delayed: 1 });
      this.#waiting.push(waiting);
      return;
    }
    // The write of the result may have been done, although it has failed for this worker.
    const stored = await batches.item(this.#batch, waiting.requestIndex);
    if (stored?.status === 'success' || stored?.status === 'failed') await this.#startNext(claimed);
  }

  /** Ends early if nothing is to be started any more. */
  #sleep(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        cancel();
        this.#sleepers.delete(end);
        resolve();
      };
      const cancel = this.#services.clock.after(milliseconds, end);
      this.#sleepers.add(end);
    });
  }

  #endSleep(): void {
    for (const end of this.#sleepers) end();
  }

  #loseSlot(): void {
    this.#hasLostSlot = true;
    for (const stop of this.#attempts) stop.abort(new ReplyAborted('lease-lost', interrupted));
    this.#endSleep();
  }

  /** @returns what ends the beat, and waits for the last one */
  #startBeat(): () => Promise<void> {
    let underWay: Promise<void> | undefined;
    const cancel = this.#services.clock.every(this.#services.replySettings.lease / 6, () => {
      underWay ??= this.#beat()
        .catch((error: unknown) => {
          // The next beat follows. Every write of this worker finds out whether the slot is lost.
          this.#services.log.warn('A slot was not renewed', { batchId: this.#batch.id, error });
        })
        .then(() => {
          underWay = undefined;
          this.#advance();
        });
    });
    return async () => {
      cancel();
      await underWay;
    };
  }

  async #beat(): Promise<void> {
    const { batches, batchQueue, queueSettings, random, replySettings } = this.#services;
    const batch = await batches.renew(this.#batch, this.#slot, this.#now() + replySettings.lease);
    if (batch === undefined) return this.#loseSlot();
    // A take may have ended meanwhile, and is newer.
    if (batch.next >= this.#batch.next || batch.stop !== null) this.#batch = batch;
    if (this.#isOver()) this.#endSleep();
    await this.#count();
    this.#share = await shareOf(this.#services, batch.workspaceId);
    if (this.#isEnding()) return;
    const mustHandBack = this.#slot.number > this.#share || this.#now() >= this.#takesUntil;
    const mayHandBack = random() < handBacksPerBeat / queueSettings.workspaceSlots;
    if (!mustHandBack && !(mayHandBack && (await batchQueue.isFilled()))) return;
    this.#isHandingBack = true;
    this.#endSleep();
  }

  async #count(): Promise<void> {
    if (this.#workspace !== undefined)
      await countRequests(this.#services, this.#batch, this.#workspace, this.#uncounted.splice(0));
  }

  /** Passes the slot on if it has work, and otherwise removes it. */
  async #leave(): Promise<void> {
    const { batches, batchQueue } = this.#services;
    const isStarted = this.#ready.length + this.#lost.length > 0;
    const hasNew = leftOf(this.#batch) > 0 && this.#slot.number <= this.#share;
    const hasWork = this.#isBroken || isStarted || this.#waiting.length > 0;
    if (this.#isOver() || !(hasWork || hasNew)) {
      const batch = await batches.retire(this.#batch, this.#slot);
      if (batch !== undefined && needsCheck(batch, this.#now()))
        await completeTaskCallback(this.#services)(batch);
      return;
    }
    const firstDue = Math.min(...this.#waiting.map(({ due }) => due ?? 0)) - this.#now();
    const delay = this.#isBroken ? waitAfterBreak : isStarted || hasNew ? 0 : Math.max(firstDue, 0);
    const until = this.#now() + messageMilliseconds + delay;
    if ((await batches.pass(this.#batch, this.#slot, { until, isClean: !hasWork })) === undefined) return;
    const { number: slot, epoch } = this.#slot;
    const message = { workspaceId: this.#batch.workspaceId, batchId: this.#batch.id, slot, epoch };
    await batchQueue.send([message], Math.ceil(delay / 1000));
  }
}

/** Milliseconds until the next worker of a slot whose worker met an error of the service. */
const waitAfterBreak = 5000;
