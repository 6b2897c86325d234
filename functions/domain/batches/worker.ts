import type { ResponseFormat } from '#contract/response-format.ts';
import {
  type Attempt,
  attemptRequest,
  type Claimant,
  type ClaimedRequest,
  type ClaimServices,
  claimRequests,
  prepareRequest,
  type Started,
  takeOver,
  waitOf,
  waitsAtOnce,
} from './attempt-request.ts';
import type { BatchItem } from './batch.ts';
import type { Services, SlotMessage } from './batch-store.ts';
import { type CountServices, countRequests, type EndedAttempt, leftoversOf } from './leftovers.ts';
import type { RespondServices } from './respond-to-request.ts';
import { type OwnerServices, SlotOwner } from './slots.ts';

type WorkerServices = ClaimServices &
  RespondServices &
  CountServices &
  OwnerServices &
  Services<'identifiers'>;

/** Does nothing if the message is out of date, such as a duplicate. */
export async function workOnSlot(
  services: WorkerServices,
  { workspaceId, batchId, slot, epoch }: SlotMessage,
): Promise<void> {
  const name = services.identifiers.uuid();
  const until = services.clock.now().getTime() + services.replySettings.lease;
  const batch = { workspaceId, id: batchId };
  const acquired = await services.batches.acquire(batch, { number: slot, epoch }, { name, until });
  if (acquired === undefined) return;
  const owner = new SlotOwner(services, acquired.batch, acquired.slot);
  await new Worker(services, owner).run(acquired.wasClean);
}

class Worker {
  readonly #services: WorkerServices;
  readonly #owner: SlotOwner;
  #buffer: ClaimedRequest[] = [];
  #lost: BatchItem[] = [];
  #waiting: BatchItem[] = [];
  #hasUnread = false;
  #ready: number[] = [];
  #running = 0;
  #isFilling = false;
  /** Whether a request runs alone, because it may kill its worker. */
  #isAlone = false;
  /** Number of requests of `#lost` that are being taken over: their items may not name this worker yet. */
  #takingOver = 0;
  #uncounted: EndedAttempt[] = [];
  #formatRead: Promise<ResponseFormat | undefined> | undefined;
  #onIdle: () => void = () => undefined;

  constructor(services: WorkerServices, owner: SlotOwner) {
    this.#services = services;
    this.#owner = owner;
  }

  async run(wasClean: boolean): Promise<void> {
    const stopBeat = this.#startBeat();
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
      // Until the leftovers are read, the worker takes nothing: a take would overwrite which requests the last take has
      // started.
      this.#hasUnread = !wasClean;
      this.#fillBy(() => this.#findLeftovers());
    });
    // The last beat must start nothing.
    this.#owner.end();
    await stopBeat();
    await this.#count();
    const dues = this.#waiting.map(({ due }) => due ?? 0);
    await this.#owner.leave({
      hasStarted: this.#hasUnread || this.#ready.length + this.#lost.length > 0,
      firstDue: dues.length === 0 ? undefined : Math.min(...dues),
    });
  }

  #now = (): number => this.#services.clock.now().getTime();

  async #findLeftovers(): Promise<void> {
    await this.#owner.start();
    const { batch, slot } = this.#owner;
    const stored = batch.slots[slot.number];
    if (!this.#hasUnread || this.#owner.isEnding() || stored === undefined) return;
    const { batches } = this.#services;
    const [items, manifest] = await Promise.all([batches.allItems(batch), batches.manifest(batch)]);
    const { lost, waiting, ready, withoutItem } = leftoversOf(stored, slot.number, items, manifest);
    this.#lost = lost;
    this.#waiting = waiting;
    this.#ready = ready;
    this.#hasUnread = false;
    await this.#claim({ block: [], named: withoutItem });
  }

  #advance(): void {
    for (let work = this.#nextWork(); work !== undefined; work = this.#nextWork()) this.#start(work);
    if (this.#shouldFill()) this.#fillBy(() => this.#fill());
    if (this.#running === 0 && !this.#isFilling) this.#onIdle();
  }

  #fillBy(fill: () => Promise<void>): void {
    this.#isFilling = true;
    fill()
      .catch((error: unknown) => this.#owner.break(error))
      .then(() => {
        this.#isFilling = false;
        this.#advance();
      });
  }

  #nextWork(): (() => Promise<void>) | undefined {
    if (this.#running >= this.#services.queueSettings.requestsPerWorker || this.#isAlone) return undefined;
    if (this.#owner.lost.aborted) return undefined;
    const claimed = this.#buffer.shift();
    if (claimed !== undefined) return () => this.#process(claimed);
    const [item] = this.#lost;
    if (item === undefined || this.#owner.isEnding()) return undefined;
    if (item.lostAttempts > 0 && this.#running > 0) return undefined;
    this.#isAlone = item.lostAttempts > 0;
    this.#lost.shift();
    return () => this.#resume(item);
  }

  #start(work: () => Promise<void>): void {
    this.#running += 1;
    work()
      .catch((error: unknown) => this.#owner.break(error))
      .then(() => {
        this.#running -= 1;
        if (this.#running === 0) this.#isAlone = false;
        this.#advance();
      });
  }

  #idleCapacity = (): number => this.#services.queueSettings.requestsPerWorker - this.#running;

  #due = (): BatchItem[] => this.#waiting.filter(({ due }) => (due ?? 0) <= this.#now());

  #shouldFill(): boolean {
    if (this.#isFilling || this.#isAlone || this.#buffer.length + this.#lost.length > 0) return false;
    // The last take may be all that says that the requests under takeover have started. No take may overwrite it.
    if (this.#takingOver > 0) return false;
    if (this.#owner.isEnding()) return false;
    return (
      this.#ready.length > 0 || this.#due().length > 0 || this.#owner.groupsToTake(this.#idleCapacity()) > 0
    );
  }

  async #fill(): Promise<void> {
    await this.#owner.readWorkspace();
    if (this.#owner.isEnding()) return;
    const most = Math.max(this.#idleCapacity(), 1);
    const due = this.#due().slice(0, most);
    const ready = this.#ready.slice(0, most - due.length);
    const named = Object.fromEntries([
      ...due.map(({ requestIndex, attempt }) => [requestIndex, attempt + 1]),
      ...ready.map((requestIndex) => [requestIndex, 1]),
    ]) as Record<number, number>;
    const groups = this.#owner.groupsToTake(this.#idleCapacity() - due.length - ready.length);
    const block = await this.#owner.take(groups, named);
    if (block === undefined) return;
    this.#waiting = this.#waiting.filter((item) => !due.includes(item));
    this.#ready = this.#ready.filter((requestIndex) => !ready.includes(requestIndex));
    await Promise.all([this.#claim({ block, named: ready }), ...due.map((item) => this.#takeWaiting(item))]);
  }

  #format = (): Promise<ResponseFormat | undefined> => {
    this.#formatRead ??= this.#services.batches.format(this.#owner.batch);
    return this.#formatRead;
  };

  #claimant(): Claimant | undefined {
    const { batch, slot, workspace } = this.#owner;
    return workspace && { batch, slot, workspace, format: this.#format, isOwner: this.#owner.isOwner };
  }

  async #claim(started: Started): Promise<void> {
    const claimant = this.#claimant();
    if (started.block.length + started.named.length === 0 || claimant === undefined) return;
    const { claimed, others } = await claimRequests(this.#services, claimant, started);
    this.#buffer.push(...claimed);
    for (const item of others) {
      if (item.status !== 'processing') continue;
      // This worker has stored the item itself, such as in a write whose response was lost.
      if (item.epoch === claimant.slot.epoch)
        this.#buffer.push(await prepareRequest(this.#services, claimant, item));
      else this.#lost.push(item);
    }
  }

  async #takeWaiting(item: BatchItem): Promise<void> {
    const claimed = await this.#takeOver(item);
    if (claimed !== undefined) this.#buffer.push(claimed);
  }

  async #resume(item: BatchItem): Promise<void> {
    this.#takingOver += 1;
    const claimed = await this.#takeOver(item).finally(() => {
      this.#takingOver -= 1;
    });
    this.#advance();
    if (claimed !== undefined) await this.#process(claimed);
  }

  async #takeOver(found: BatchItem): Promise<ClaimedRequest | undefined> {
    const claimant = this.#claimant();
    if (claimant === undefined || !(await this.#owner.isOwner())) return undefined;
    const { batch, slot } = claimant;
    const item = await takeOver(this.#services, batch, slot, found);
    if (item.status === 'waiting') this.#waiting.push(item);
    else if (item.epoch > slot.epoch) this.#owner.lose();
    else {
      const claimed = await prepareRequest(this.#services, claimant, item);
      if (item.status === 'processing') return claimed;
      await this.#startNext(claimed);
    }
    return undefined;
  }

  async #startNext({ request: { next } }: ClaimedRequest): Promise<void> {
    if (next === null || (await this.#services.batches.item(this.#owner.batch, next)) !== undefined) return;
    this.#ready.push(next);
  }

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

  /** Returns true after a full wait here. Otherwise schedules a retry, unless another write has changed the item. */
  async #canRetryNow(claimed: ClaimedRequest, attempt: Attempt, retries: number): Promise<boolean> {
    const { item, outcome } = attempt;
    const shortWait = outcome !== 'blocked' && item.attempt === 1 ? waitsAtOnce[retries] : undefined;
    const wait = waitOf(attempt, shortWait);
    const due = this.#now() + wait;
    if (shortWait !== undefined && !this.#owner.isEnding()) await this.#sleep(wait);
    if (shortWait !== undefined && !this.#owner.isEnding()) return true;
    await this.#scheduleRetry(claimed, { ...item, status: 'waiting', due });
    return false;
  }

  async #attempt(claimed: ClaimedRequest): Promise<Attempt> {
    const { isOwner } = this.#owner;
    if (!(await isOwner())) return { outcome: 'lost', item: claimed.item, calls: [] };
    const { batch, lost } = this.#owner;
    const stop = new AbortController();
    const abort = (): void => stop.abort(lost.reason);
    lost.addEventListener('abort', abort);
    try {
      return await attemptRequest(this.#services, batch, claimed, { stop, isOwner });
    } finally {
      lost.removeEventListener('abort', abort);
    }
  }

  async #scheduleRetry(claimed: ClaimedRequest, waiting: BatchItem): Promise<void> {
    const { batches, meter } = this.#services;
    if (await batches.replaceItem(this.#owner.batch, { ...waiting, status: 'processing' }, waiting)) {
      meter.requestsProcessed({ done: 0, failed: 0, delayed: 1 });
      this.#waiting.push(waiting);
      return;
    }
    // The write of the result may have succeeded although its response was lost.
    const stored = await batches.item(this.#owner.batch, waiting.requestIndex);
    if (stored?.status === 'success' || stored?.status === 'failed') await this.#startNext(claimed);
  }

  #sleep(milliseconds: number): Promise<void> {
    const { ending } = this.#owner;
    return new Promise((resolve) => {
      const end = (): void => {
        cancel();
        ending.removeEventListener('abort', end);
        resolve();
      };
      const cancel = this.#services.clock.after(milliseconds, end);
      ending.addEventListener('abort', end);
    });
  }

  #startBeat(): () => Promise<void> {
    let underWay: Promise<void> | undefined;
    const cancel = this.#services.clock.every(this.#services.replySettings.lease / 6, () => {
      underWay ??= this.#beat().then(() => {
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
    try {
      await this.#owner.renew();
      await this.#count();
    } catch (error) {
      // The next beat tries again. Once another worker has taken over a request, this worker cannot write its item.
      this.#services.log.warn('A slot was not renewed', { batchId: this.#owner.batch.id, error });
    }
  }

  async #count(): Promise<void> {
    const { batch, workspace } = this.#owner;
    if (workspace !== undefined)
      await countRequests(this.#services, batch, workspace, this.#uncounted.splice(0));
  }
}
