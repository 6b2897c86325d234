interface Closable {
  close(): unknown;
}

/** What the tools of a reply share, such as connections and sessions. It is closed at the end of the reply. */
export class ReplyScope {
  readonly #shared = new Map<unknown, Closable>();

  /** Returns what belongs to the key. At the first use of the key in the reply, `open` makes it. */
  get<Shared extends Closable>(key: unknown, open: () => Shared): Shared {
    const shared = this.#shared.get(key) ?? open();
    this.#shared.set(key, shared);
    return shared as Shared;
  }

  /**
   * Closes all, without errors. What was opened last is closed first, so that a session ends while its connection is
   * still open.
   */
  async close(): Promise<void> {
    // An error is ignored: the reply is complete.
    for (const shared of [...this.#shared.values()].reverse())
      await Promise.resolve()
        .then(() => shared.close())
        .catch(() => undefined);
  }
}
