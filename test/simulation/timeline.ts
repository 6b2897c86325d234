import { setImmediate as nextTurn } from 'node:timers/promises';
import { seededRandom } from '#support/seeded-random.ts';

/** Two clocks differ by so many milliseconds at most. */
export const clockDifference = 2000;

interface Event {
  at: number;
  call: () => void;
}

/** Virtual time. Everything that happens in a world is an event here, and every random number comes from one seed. */
export class Timeline {
  /** Milliseconds since the epoch. */
  now = Date.parse('2027-01-31T12:00:00.000Z');
  readonly start = this.now;
  readonly random: () => number;
  /** By time. Events of the same time happen in the order in which they were added. */
  readonly #events: Event[] = [];

  constructor(seed: number) {
    this.random = seededRandom(seed);
  }

  at(time: number, call: () => void): void {
    const event = { at: Math.max(time, this.now), call };
    const before = this.#events.findLastIndex(({ at }) => at <= event.at);
    this.#events.splice(before + 1, 0, event);
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
      const event = this.#events.shift();
      if (event === undefined) return;
      this.now = event.at;
      event.call();
      await nextTurn();
    }
  }
}
