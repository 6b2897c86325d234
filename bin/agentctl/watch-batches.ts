import { setTimeout as pause } from 'node:timers/promises';
import type { Batch, ChatBatchClient } from '#lib/client/index.ts';

export const hasEnded = ({ status }: Batch): boolean =>
  status === 'completed' || status === 'failed' || status === 'cancelled';

/** The pause with at most ten open batches: short enough to show progress to a person. */
const pauseSeconds = 1;
/** Half of the default rate limit of a key (20 reads a second). */
const readsPerSecond = 10;

export class BatchWatch {
  readonly #client: ChatBatchClient;
  readonly #onChange: () => void;
  readonly #batches = new Map<string, Batch>();

  constructor(client: ChatBatchClient, onChange = () => {}) {
    this.#client = client;
    this.#onChange = onChange;
  }

  get batches(): Batch[] {
    return [...this.#batches.values()];
  }

  get open(): Batch[] {
    return this.batches.filter((batch) => !hasEnded(batch));
  }

  get ended(): Batch[] {
    return this.batches.filter(hasEnded);
  }

  batchesOf(ids: readonly string[]): Batch[] {
    return ids.flatMap((id) => this.#batches.get(id) ?? []);
  }

  add(...batches: readonly Batch[]): void {
    for (const batch of batches) this.#batches.set(batch.id, batch);
  }

  /** One after another: the rate limiter would reject a thousand concurrent requests. */
  async read(batchIds: readonly string[]): Promise<Batch[]> {
    for (const id of batchIds)
      if (!this.#batches.has(id)) {
        this.#batches.set(id, await this.#client.batches.get(id));
        this.#onChange();
      }
    return this.batchesOf(batchIds);
  }

  async untilEnded(): Promise<void> {
    while (this.open.length > 0) {
      await pause(this.#pauseMilliseconds);
      await this.#poll();
    }
  }

  /** @param longest milliseconds, after which it starts no other pass over the open batches */
  async untilOneHasEnded(longest: number): Promise<void> {
    const until = performance.now() + longest;
    const openBefore = this.open.length;
    for (;;) {
      const left = until - performance.now();
      await pause(Math.max(0, Math.min(this.#pauseMilliseconds, left)));
      if (left <= this.#pauseMilliseconds) return;
      await this.#poll();
      if (this.open.length < openBefore) return;
    }
  }

  get #pauseMilliseconds(): number {
    return 1000 * Math.max(pauseSeconds, this.open.length / readsPerSecond);
  }

  async #poll(): Promise<void> {
    for (const { id } of this.open) {
      this.#batches.set(id, await this.#client.batches.get(id));
      this.#onChange();
    }
  }
}
