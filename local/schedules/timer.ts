/** What schedules are kept by. */
export interface Timer {
  /** Calls once after this time; returns what calls it off. */
  after(milliseconds: number, callback: () => void): () => void;
}

export const systemTimer: Timer = {
  after(milliseconds, callback) {
    const timeout = setTimeout(callback, milliseconds);
    return () => clearTimeout(timeout);
  },
};
