/** The timers of schedules. */
export interface Timer {
  /** Calls `callback` once after this time. Returns a function that cancels the call. */
  after(milliseconds: number, callback: () => void): () => void;
}

export const systemTimer: Timer = {
  after(milliseconds, callback) {
    const timeout = setTimeout(callback, milliseconds);
    return () => clearTimeout(timeout);
  },
};
