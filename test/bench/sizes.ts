/** How much is measured; every phase also has a time limit. */
export interface Sizes {
  /** How often each function is started, each time in its own process. */
  functionStarts: number;
  /** Messages before the measurement, four at a time, half of them streamed. */
  warmUp: number;
  single: number;
  parallel: number;
  paced: number;
  plain: number;
  batch: number;
  /** Uploads of each size. */
  uploads: number;
  /** Reads of each page; three more before them are not counted. */
  pages: number;
  /** A phase of replies starts no more replies after so many seconds. */
  phaseSeconds: number;
  batchSeconds: number;
}

/** One run of the service takes one to two minutes on two processors. */
export const fullSizes: Sizes = {
  functionStarts: 9,
  warmUp: 120,
  single: 60,
  parallel: 1500,
  paced: 160,
  plain: 1500,
  batch: 1000,
  uploads: 3,
  pages: 20,
  phaseSeconds: 15,
  batchSeconds: 180,
};

/** Only checks that everything works; its figures mean nothing. */
export const quickSizes: Sizes = {
  functionStarts: 1,
  warmUp: 8,
  single: 5,
  parallel: 32,
  paced: 16,
  plain: 32,
  batch: 20,
  uploads: 1,
  pages: 3,
  phaseSeconds: 5,
  batchSeconds: 60,
};

/** As in a typical conversation of a user with an agent. */
export const turnsPerChat = 5;

/** Concurrent requests, and the bare server's workers for a batch. */
export const width = 16;
