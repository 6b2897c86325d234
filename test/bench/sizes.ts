/** How much is measured: in full, and with `--quick`, which only checks that everything works. */
const sizes = {
  /** How often each function is started, each time in its own process. */
  functionStarts: [9, 1],
  /** Messages before the measurement, four at a time, half of them streamed. */
  warmUp: [120, 8],
  single: [60, 5],
  parallel: [1500, 32],
  paced: [160, 16],
  plain: [1500, 32],
  /** Replies of each route in each of five rounds; a tenth of them one at a time. */
  completions: [160, 20],
  batch: [1000, 20],
  /** Uploads of each size. */
  uploads: [3, 1],
  /** Reads of each page; three more before them are not counted. */
  pages: [20, 3],
  /** A phase of replies starts no more replies after so many seconds. */
  phaseSeconds: [15, 5],
  batchSeconds: [180, 60],
} as const;

export type Sizes = Record<keyof typeof sizes, number>;

export const sizesOf = (isQuick: boolean): Sizes =>
  Object.fromEntries(
    Object.entries(sizes).map(([name, [full, quick]]) => [name, isQuick ? quick : full]),
  ) as Sizes;

/** Concurrent requests, and the bare server's workers for a batch. */
export const width = 16;
