/** A kill ends what it meets; for so long behind it, chats may be under the lease of what it met, milliseconds. */
const killShadow = 5000;

/** What happened in a soak: how often each thing was done and how long it took, and what went wrong. */
export class SoakLog {
  readonly kills: { prefix: string; from: number; until: number; threads: number }[] = [];
  /** Errors that nobody asked for. */
  readonly unexpected: string[] = [];
  /** By kind: answers that a kill had cut off, or a shadow of one refused, and that were asked for again. */
  readonly excused: Record<string, number> = {};
  readonly #times = new Map<string, number[]>();

  /** Does something, notes how long it took, and what it failed of. */
  async note(kind: string, work: () => Promise<unknown>): Promise<void> {
    const start = performance.now();
    try {
      await work();
      const times = this.#times.get(kind) ?? [];
      times.push(performance.now() - start);
      this.#times.set(kind, times);
    } catch (error) {
      this.unexpected.push(
        `${kind}: ${error instanceof Error ? error.message : String(error)}`.slice(0, 500),
      );
    }
  }

  /**
   * Asks, and asks again as long as a kill may be to blame.
   * @param functions logical ids, or their beginnings, of what answers
   */
  async persistently<Result>(
    kind: string,
    functions: readonly string[],
    send: () => Promise<Result>,
  ): Promise<Result> {
    for (let attempt = 1; ; attempt += 1) {
      const start = performance.now();
      try {
        return await send();
      } catch (error) {
        if (attempt === 30 || !this.#mayBeKilled(functions, start, performance.now())) throw error;
        this.excused[kind] = (this.excused[kind] ?? 0) + 1;
      }
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
  }

  #mayBeKilled(functions: readonly string[], from: number, until: number): boolean {
    return this.kills.some(
      (kill) =>
        functions.some((name) => kill.prefix === name) &&
        kill.from <= until &&
        kill.until + killShadow >= from,
    );
  }

  /** Milliseconds. */
  table(): Record<string, { count: number; median: number; slowest: number }> {
    return Object.fromEntries(
      [...this.#times].map(([kind, times]) => {
        const sorted = times.toSorted((one, other) => one - other);
        const at = (share: number) => Math.round(sorted[Math.floor((sorted.length - 1) * share)] ?? 0);
        return [kind, { count: times.length, median: at(0.5), slowest: at(1) }];
      }),
    );
  }
}
