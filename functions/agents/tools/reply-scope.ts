interface Closable {
  close(): unknown;
}

/** What the tools of a reply share, such as connections. It is closed at the end of the reply. */
export class ReplyScope {
  readonly #shared = new Map<unknown, Closable>();

  get<Shared extends Closable>(key: unknown, open: () => Shared): Shared {
    const shared = this.#shared.get(key) ?? open();
    this.#shared.set(key, shared);
    return shared as Shared;
  }

  /** What was opened last is closed first, so that a session ends before its connection. Errors are ignored. */
  async close(): Promise<void> {
    for (const shared of [...this.#shared.values()].reverse())
      await Promise.resolve()
        .then(() => shared.close())
        .catch(() => undefined);
  }
}
