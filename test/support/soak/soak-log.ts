/** In milliseconds: how long after a kill a chat may still be under the lease of a killed invocation. */
const killShadow = 5000;

/** What happened in a soak: how often each action was done, how long it took, and what went wrong. */
export class SoakLog {
  /** By kind: how often it was done, and the longest time in milliseconds. */
  readonly done: Record<string, { count: number; slowest: number }> = {};
  readonly kills: { prefix: string; from: number; until: number }[] = [];
  /** Errors that no kill and no scripted failure explains. */
  readonly unexpected: string[] = [];
  /** By kind: requests that were retried because a kill, or a lease that it left, may have caused their failure. */
  readonly excused: Record<string, number> = {};

  /** Runs `work`, and records how long it took or why it failed. */
  async record(kind: string, work: () => Promise<unknown>): Promise<void> {
    const start = performance.now();
    try {
      await work();
      const { count = 0, slowest = 0 } = this.done[kind] ?? {};
      this.done[kind] = {
        count: count + 1,
        slowest: Math.max(slowest, Math.round(performance.now() - start)),
      };
    } catch (error) {
      this.unexpected.push(
        `${kind}: ${error instanceof Error ? error.message : String(error)}`.slice(0, 500),
      );
    }
  }

  /**
   * Sends a request, and retries it as long as a kill may be the cause of the failure: 30 attempts at most.
   * @param functions prefixes of the logical ids of the functions that respond
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
}
