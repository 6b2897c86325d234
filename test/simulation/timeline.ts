import { setImmediate as nextTurn } from 'node:timers/promises';
import { seededRandom } from '#support/seeded-random.ts';

interface Event {
  at: number;
  /** Events of the same time happen in the order in which they were added. */
  order: number;
  call: () => void;
}

const isBefore = (one: Event, other: Event): boolean =>
  one.at < other.at || (one.at === other.at && one.order < other.order);

/** Virtual time. Everything that happens in a world is an event here, and every random number comes from one seed. */
export class Timeline {
  /** Milliseconds since the epoch. */
  now = Date.parse('2027-01-31T12:00:00.000Z');
  readonly start = this.now;
  readonly random: () => number;
  readonly #heap: Event[] = [];
  #order = 0;

  constructor(seed: number) {
    this.random = seededRandom(seed);
  }

  at(time: number, call: () => void): void {
    const heap = this.#heap;
    const event = { at: Math.max(time, this.now), order: this.#order, call };
    this.#order += 1;
    let index = heap.length;
    heap.push(event);
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!isBefore(event, heap[parent] as Event)) break;
      heap[index] = heap[parent] as Event;
      index = parent;
    }
    heap[index] = event;
  }

  sleep(milliseconds: number): Promise<void> {
    return new Promise((resolve) => this.at(this.now + milliseconds, resolve));
  }

  /** From the first to less than the second number. */
  between(low: number, high: number): number {
    return low + this.random() * (high - low);
  }

  /** A whole number from 0 to less than the given one. */
  below(count: number): number {
    return Math.floor(this.random() * count);
  }

  pick<Value>(values: readonly Value[]): Value {
    return values[this.below(values.length)] as Value;
  }

  chance(probability: number): boolean {
    return this.random() < probability;
  }

  /**
   * Makes one event after the other happen. What an event has started goes on up to its next wait before the next event.
   */
  async run(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const event = this.#next();
      if (event === undefined) return;
      this.now = event.at;
      event.call();
      await nextTurn();
    }
  }

  #next(): Event | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Event, heap[child] as Event)) child += 1;
      if (!isBefore(heap[child] as Event, last)) break;
      heap[index] = heap[child] as Event;
      index = child;
    }
    heap[index] = last;
    return first;
  }
}
