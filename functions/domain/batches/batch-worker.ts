import type { PlatformServices } from '#domain/platform/services.ts';
import type { WorkspaceServices } from '#domain/workspaces/services.ts';
import type { Workspace } from '#domain/workspaces/workspace.ts';
import { type Batch, type BatchItem, type BatchRequest, requestsPerGroup } from './batch.ts';
import {
  type ClaimedRequest,
  type ClaimServices,
  claimRequests,
  longestTaking,
  requestsPerClaim,
} from './claim-requests.ts';
import {
  countRequests,
  type EndedRequest,
  type EndServices,
  endRequest,
  hasEnded,
  type Retry,
} from './end-request.ts';
import { failOfDisabled } from './fail-of-disabled.ts';
import { type PassSlotServices, passSlotOn, recordOutcomes, sendRetries } from './pass-slot-on.ts';
import { groupsLeft } from './send-requests.ts';
import { takeGroups } from './take-groups.ts';

export type WorkerServices = ClaimServices &
  EndServices &
  PassSlotServices &
  Pick<WorkspaceServices, 'workspaces'> &
  Pick<PlatformServices, 'random'>;

/** Milliseconds between two questions whether messages wait in the queue. */
const queueCheckInterval = 5000;

/** Milliseconds for which retries are collected, so that those of the same moment share a message. */
const retryInterval = 1000;

/**
 * While messages wait, about this many workers of a workspace at its limit hand back at each check. If all did, most
 * workers would wait for their last requests all the time.
 */
const handBacksPerCheck = 4;

/** The requests of a queue message, as they were read. */
export interface MessageRequests {
  requests: readonly BatchRequest[];
  itemAt: ReadonlyMap<number, BatchItem | undefined>;
  hasSlot: boolean;
  /** Whether one of the requests has lost a worker, and may have killed it: no other request is then taken. */
  isSuspect: boolean;
}

/**
 * Processes the requests of a message, and, if the message holds a slot, takes further request groups of the batch.
 *
 * Claimed requests wait in a buffer; up to `requestsPerWorker` are processed at once. When the buffer is empty, one
 * write takes up to two groups and records what has ended, and one transaction claims their requests. The next request
 * of a history comes into the same buffer. The worker hands back its slot after a minute, or if messages wait in the
 * queue: its slot goes on as a message, claimed requests that have not started are released, and those that have
 * started end here.
 */
export class BatchWorker {
  readonly #services: WorkerServices;
  readonly #message: MessageRequests;
  /** Name of this worker while it holds a slot. A claim is exclusive, so its number makes the name unique. */
  readonly #name: string | null;
  #batch: Batch;
  #workspace: Workspace;
  #hasSlot: boolean;
  /** Whether further groups may be taken. */
  #takes: boolean;
  /** Whether the requests of the message have not been retried before, or one of them has succeeded. */
  #isModelReady: boolean;
  #hasHandedBack = false;
  #isRedelivered = false;
  #width: number;
  #running = 0;
  #filling = false;
  #buffer: ClaimedRequest[] = [];
  /** Requests that follow ended ones in their histories, and are not claimed. */
  #successors: number[] = [];
  #retries: Retry[] = [];
  #uncounted: EndedRequest[] = [];
  /** Each ends something that repeats, and waits for what is under way. */
  #stops: (() => Promise<void> | undefined)[] = [];
  #onIdle: () => void = () => undefined;

  constructor(services: WorkerServices, batch: Batch, workspace: Workspace, message: MessageRequests) {
    const { requests, itemAt, hasSlot, isSuspect } = message;
    this.#message = message;
    const [first] = requests;
    this.#services = services;
    this.#batch = batch;
    this.#workspace = workspace;
    this.#hasSlot = hasSlot;
    this.#takes = hasSlot && !isSuspect;
    this.#isModelReady = requests.every(({ requestIndex }) => itemAt.get(requestIndex) === undefined);
    this.#width = services.queueSettings.requestsPerWorker;
    this.#name =
      hasSlot && first !== undefined
        ? `${first.requestIndex}.${(itemAt.get(first.requestIndex)?.attempt ?? 0) + 1}`
        : null;
  }

  /** @returns false if the queue must deliver the message again */
  async run(): Promise<boolean> {
    const { requests, itemAt } = this.#message;
    const taken = await this.#take(requests.length);
    const { ready, claimed } = await this.#claim([...requests, ...taken], itemAt);
    // Another worker has claimed all of them, and uses the slot.
    if (ready > 0 && claimed.length === 0) return true;
    this.#buffer = claimed;
    this.#watch();
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
      this.#advance();
    });
    await Promise.all(this.#stops.map((stop) => stop()));
    await this.#passOn();
    return !this.#isRedelivered;
  }

  /** Starts requests of the buffer, and fills it if it is empty. */
  #advance(): void {
    while (this.#running < this.#width && this.#buffer.length > 0)
      this.#start(this.#buffer.shift() as ClaimedRequest);
    if (this.#needsRequests()) {
      this.#filling = true;
      this.#fill().then(() => {
        this.#filling = false;
        this.#advance();
      });
    }
    if (this.#running === 0 && !this.#filling) this.#onIdle();
  }

  #needsRequests(): boolean {
    if (this.#filling || this.#hasHandedBack || this.#width <= 0) return false;
    return this.#successors.length > 0 || this.#mayTake();
  }

  #mayTake(): boolean {
    if (!this.#takes || !this.#isModelReady || this.#hasHandedBack) return false;
    return this.#buffer.length === 0 && groupsLeft(this.#batch) > 0;
  }

  #start(claimed: ClaimedRequest): void {
    this.#running += 1;
    endRequest(this.#services, this.#batch, claimed).then((ended) => {
      this.#running -= 1;
      this.#note(ended);
      this.#advance();
    });
  }

  #note(ended: EndedRequest): void {
    this.#uncounted.push(ended);
    if (ended.outcome === 'not-handled') this.#isRedelivered = true;
    if (ended.outcome === 'success') this.#isModelReady = true;
    if (hasEnded(ended) && ended.request.next !== null) this.#successors.push(ended.request.next);
    if (ended.retry === undefined) return;
    if (ended.retry.narrows) this.#width -= 1;
    this.#retries.push(ended.retry);
  }

  /** Never rejects. */
  async #fill(): Promise<void> {
    const successors = this.#successors.splice(0, requestsPerClaim);
    let requestIndexes = successors;
    try {
      const workspace = await this.#services.workspaces.get(this.#workspace.id);
      if (workspace?.enabled !== true) {
        await failOfDisabled(this.#services, this.#batch);
        this.#takes = false;
        return;
      }
      this.#workspace = workspace;
      const requests = await this.#services.batches.requests(this.#batch, successors);
      const taken = await this.#take(successors.length);
      requestIndexes = [...successors, ...taken.map(({ requestIndex }) => requestIndex)];
      const { claimed } = await this.#claim([...requests, ...taken], new Map());
      this.#buffer.push(...claimed);
    } catch (error) {
      // What was taken is enqueued with what the worker leaves. If that fails too, the reconciler finds it.
      this.#services.log.error('Requests of a batch were not claimed', { batchId: this.#batch.id, error });
      this.#successors.push(...requestIndexes);
      this.#hasHandedBack = true;
    }
  }

  /**
   * Takes groups and records what has ended.
   * @param others number of requests that will be claimed with those of the groups
   * @returns the requests of the groups
   */
  async #take(others: number): Promise<BatchRequest[]> {
    const groups = this.#groupsToTake(others);
    if (!this.#mayTake() || groups <= 0) return [];
    const { attempts, counts } = this.#popUncounted();
    const taken = await takeGroups(this.#services, this.#batch, counts, groups).catch(
      async (error: unknown) => {
        // Whether the outcomes are recorded is unknown, but not that they have used the model.
        await countRequests(this.#services, this.#batch, this.#workspace, attempts);
        throw error;
      },
    );
    if (taken === undefined) {
      this.#takes = false;
      this.#uncounted.push(...attempts);
      return [];
    }
    const { batch } = taken;
    this.#batch = batch;
    const first = (batch.groupsSent - taken.groups) * requestsPerGroup;
    const end = Math.min(batch.groupsSent * requestsPerGroup, batch.total);
    const [requests] = await Promise.all([
      this.#services.batches.requests(
        batch,
        Array.from({ length: end - first }, (_, index) => first + index),
      ),
      countRequests(this.#services, batch, this.#workspace, attempts),
    ]);
    return requests;
  }

  #groupsToTake(others: number): number {
    const idle = this.#width - this.#running - others;
    const toUseWidth = Math.ceil(idle / requestsPerGroup);
    // The last groups are shared by all workers, so that none is idle while others have requests in their buffers.
    const isNearEnd = groupsLeft(this.#batch) <= this.#services.queueSettings.workspaceSlots;
    const usual = isNearEnd ? 1 : Math.floor((requestsPerClaim - others) / requestsPerGroup);
    return Math.max(toUseWidth, usual);
  }

  #claim(
    requests: readonly BatchRequest[],
    itemAt: ReadonlyMap<number, BatchItem | undefined>,
  ): Promise<{ ready: number; claimed: ClaimedRequest[] }> {
    const owner = { batch: this.#batch, workspace: this.#workspace, worker: this.#name };
    return claimRequests(this.#services, owner, requests, itemAt);
  }

  /** Empties the list of ended requests that are not counted. */
  #popUncounted(): { attempts: EndedRequest[]; counts: { completed: number; failed: number } } {
    const attempts = this.#uncounted.splice(0);
    const completed = attempts.filter(({ outcome }) => outcome === 'success').length;
    const failed = attempts.filter(({ outcome }) => outcome === 'failed').length;
    return { attempts, counts: { completed, failed } };
  }

  /** Starts what the worker does from time to time. */
  #watch(): void {
    const { clock, random, replySettings, queueSettings } = this.#services;
    // Workers that began together do not all hand back together.
    const takesUntil = clock.now().getTime() + longestTaking * (1 - random() / 3) - queueCheckInterval;
    const share = handBacksPerCheck / queueSettings.workspaceSlots;
    this.#every(retryInterval, () => this.#sendRetries());
    this.#every(replySettings.lease / 3, () => this.#renewBuffered());
    this.#every(queueCheckInterval, async () => {
      await this.#count();
      if (this.#hasHandedBack) return;
      const isContended = async () =>
        (await this.#services.batchQueue.depth()) === 'filled' && random() < share;
      if (clock.now().getTime() >= takesUntil || (await isContended())) await this.#handBack();
    });
  }

  /** An error is logged, and the work is done again at its next time. */
  #every(milliseconds: number, work: () => Promise<void>): void {
    let underWay: Promise<void> | undefined;
    const doWork = async (): Promise<void> => {
      try {
        await work();
      } catch (error) {
        const { id: batchId } = this.#batch;
        this.#services.log.warn('A worker of a batch failed beside its requests', { batchId, error });
      }
      underWay = undefined;
    };
    const cancel = this.#services.clock.every(milliseconds, () => {
      underWay ??= doWork();
    });
    this.#stops.push(() => {
      cancel();
      return underWay;
    });
  }

  async #sendRetries(): Promise<void> {
    // The last retries of a worker go on with its slot.
    if (this.#running > 0) await sendRetries(this.#services, this.#batch, this.#retries.splice(0), false);
  }

  /** Requests in the buffer keep their leases as those in work do. */
  async #renewBuffered(): Promise<void> {
    const { batches, clock, replySettings } = this.#services;
    const until = clock.now().getTime() + replySettings.lease;
    await Promise.all(
      this.#buffer.map(async (claimed) => {
        const isOwner = await batches.renewItemLease(this.#batch, claimed.item, until);
        // Later writes store the whole item, and must not bring its first lease back.
        if (isOwner) claimed.item = { ...claimed.item, leaseUntil: until };
        else this.#buffer = this.#buffer.filter((each) => each !== claimed);
      }),
    );
  }

  async #count(): Promise<void> {
    const { attempts, counts } = this.#popUncounted();
    await Promise.all([
      recordOutcomes(this.#services)(this.#batch, { ...counts, slots: 0 }),
      countRequests(this.#services, this.#batch, this.#workspace, attempts),
    ]);
  }

  /** The requests in work end here; all others, and the slot, go on to another worker. */
  async #handBack(): Promise<void> {
    const hasMore =
      this.#buffer.length > 0 ||
      this.#successors.length > 0 ||
      (this.#hasSlot && groupsLeft(this.#batch) > 0);
    this.#hasHandedBack = true;
    if (!hasMore) return;
    await this.#sendRetries();
    await this.#passOn();
  }

  async #passOn(): Promise<void> {
    const givesSlot = this.#hasSlot && !this.#isRedelivered;
    if (givesSlot) this.#hasSlot = false;
    await this.#releaseBuffered();
    const { attempts, counts } = this.#popUncounted();
    const ready = this.#successors.splice(0);
    const retries = this.#retries.splice(0);
    await Promise.all([
      passSlotOn(this.#services)(this.#batch, { givesSlot, ready, retries, ...counts }),
      countRequests(this.#services, this.#batch, this.#workspace, attempts),
    ]);
  }

  /** Requests that have not started wait for another worker, or for the model if the last retry waits for it. */
  async #releaseBuffered(): Promise<void> {
    const last = this.#retries.at(-1);
    const due = last?.due ?? this.#services.clock.now().getTime();
    await Promise.all(
      this.#buffer.splice(0).map(async ({ item, request }) => {
        if (!(await this.#services.batches.scheduleRetry(this.#batch, item, due))) return;
        if (last === undefined) this.#successors.push(request.requestIndex);
        else this.#retries.push({ ...last, request });
      }),
    );
  }
}
