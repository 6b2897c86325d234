/** How much is measured; every phase also has an end in time. */
export interface Sizes {
  /** How often each function is begun in a process of its own. */
  functionStarts: number;
  /** Messages before anything is measured, four at a time, half of them streamed. */
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
  /** A phase of replies begins no further one after so many seconds. */
  phaseSeconds: number;
  batchSeconds: number;
}

/** A minute or two for each run of the service on two processors. */
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

/** Shows that everything works; its figures say nothing. */
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

/** As in an agent's conversation with a user. */
export const turnsPerChat = 5;

export const width = 16;
