import type { Process } from './process.ts';
import type { Timeline } from './timeline.ts';

interface Message<Body> {
  body: Body;
  visibleAt: number;
}

interface Consumer<Body> {
  /** @returns false if the message must be delivered again */
  consume(body: Body): Promise<boolean>;
  /** Most consumers at once. */
  atOnce: number;
  /** Milliseconds for which a message that was delivered is hidden. */
  visibility: number;
}

/** A queue like SQS: messages arrive in any order, now and then late, and again if they were not deleted. */
export class Queue<Body> {
  readonly #timeline: Timeline;
  readonly #consumer: Consumer<Body>;
  readonly messages: Message<Body>[] = [];
  #running = 0;

  constructor(timeline: Timeline, consumer: Consumer<Body>) {
    this.#timeline = timeline;
    this.#consumer = consumer;
  }

  /** @param name of the call */
  async send(process: Process, name: string, bodies: readonly Body[], delaySeconds = 0): Promise<void> {
    await process.call(name, 'send', (fault) => {
      if (fault === 'lost') return;
      for (const body of fault === 'twice' ? [...bodies, ...bodies] : bodies)
        this.#add(body, delaySeconds * 1000);
    });
  }

  lose(): void {
    this.messages.length = 0;
  }

  #add(body: Body, delay: number): void {
    const timeline = this.#timeline;
    const lateness = timeline.chance(0.05) ? timeline.between(1000, 20_000) : timeline.between(10, 200);
    const visibleAt = timeline.now + delay + lateness;
    this.messages.push({ body: structuredClone(body), visibleAt });
    timeline.at(visibleAt, () => this.#poll());
  }

  isFilled(): boolean {
    return this.messages.some(({ visibleAt }) => visibleAt <= this.#timeline.now);
  }

  #poll(): void {
    const { atOnce, visibility } = this.#consumer;
    while (this.#running < atOnce) {
      const visible = this.messages.filter(({ visibleAt }) => visibleAt <= this.#timeline.now);
      if (visible.length === 0) return;
      const message = this.#timeline.pick(visible);
      message.visibleAt = this.#timeline.now + visibility;
      this.#timeline.at(message.visibleAt, () => this.#poll());
      this.#running += 1;
      void this.#deliver(message);
    }
  }

  async #deliver(message: Message<Body>): Promise<void> {
    const isDone = await this.#consumer.consume(structuredClone(message.body)).catch(() => false);
    this.#running -= 1;
    const index = this.messages.indexOf(message);
    if (isDone && index >= 0) this.messages.splice(index, 1);
    this.#poll();
  }
}
