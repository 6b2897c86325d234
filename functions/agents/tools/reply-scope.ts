interface Closable {
  close(): unknown;
}

/** What the tools of a reply share, such as connections and sessions. It is closed at the end of the reply. */
export class ReplyScope {
  readonly #shared = new Map<unknown, Closable>();

  /** @param open makes what belongs to the key, at its first use in the reply */
  get<Shared extends Closable>(key: unknown, open: () => Shared): Shared {
    const shared = this.#shared.get(key) ?? open();
    this.#shared.set(key, shared);
    return shared as Shared;
  }

  /** The last that was opened is closed first: sessions end over open connections. */
  async close(): Promise<void> {
    for (const shared of [...this.#shared.values()].reverse())
      try {
        await shared.close();
      } catch {
        // The reply is complete without it.
      }
  }
}
