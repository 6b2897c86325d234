/** Sizes of the uploaded files in megabytes. */
export const uploadMegabytes = [1, 10, 50] as const;

/** The offsets of the pages that are read. */
export const pageOffsets = [0, 1000, 1_000_000] as const;

export const phaseNames = [
  'functions',
  'start',
  'single',
  'parallel',
  'paced',
  'plain',
  'batch',
  'uploads',
  'lists',
  'memory',
] as const;
export type PhaseName = (typeof phaseNames)[number];

interface Figure {
  phase: PhaseName;
  label: string;
  unit: 'ms' | 's' | '/s' | 'MB' | '';
}

/** Everything that is measured, in the order of the report. */
export const figures = {
  synthesis: {
    phase: 'start',
    label: 'bundling and synthesis; the starts below find the bundles made',
    unit: 's',
  },
  firstStart: { phase: 'start', label: 'start to the first answer, empty data folder', unit: 's' },
  secondStart: { phase: 'start', label: 'start to the first answer, data folder kept', unit: 's' },

  singleFirstByte: { phase: 'single', label: 'one at a time: first byte', unit: 'ms' },
  singleFirstDelta: { phase: 'single', label: 'one at a time: first delta', unit: 'ms' },
  singleFirstDelta95: {
    phase: 'single',
    label: 'one at a time: first delta, 95 of 100 within',
    unit: 'ms',
  },
  singleClosed: { phase: 'single', label: 'one at a time: stream closed, reply stored', unit: 'ms' },
  singleProcessor: { phase: 'single', label: 'one at a time: processor a reply', unit: 'ms' },

  parallelFirstByte: { phase: 'parallel', label: '16 at once: first byte', unit: 'ms' },
  parallelFirstDelta: { phase: 'parallel', label: '16 at once: first delta', unit: 'ms' },
  parallelFirstDelta95: {
    phase: 'parallel',
    label: '16 at once: first delta, 95 of 100 within',
    unit: 'ms',
  },
  parallelRate: { phase: 'parallel', label: '16 at once: streamed replies', unit: '/s' },
  parallelProcessor: { phase: 'parallel', label: '16 at once: processor a streamed reply', unit: 'ms' },
  parallelModelCalls: { phase: 'parallel', label: '16 at once: calls of the model a reply', unit: '' },

  pacedFirstByte: { phase: 'paced', label: '16 at once, paced model: first byte', unit: 'ms' },
  pacedFirstDelta: {
    phase: 'paced',
    label: "16 at once, paced model: first delta, less the model's 100 ms",
    unit: 'ms',
  },
  pacedRate: { phase: 'paced', label: '16 at once, paced model: streamed replies', unit: '/s' },

  plainClosed: { phase: 'plain', label: '16 at once: plain reply', unit: 'ms' },
  plainRate: { phase: 'plain', label: '16 at once: plain replies', unit: '/s' },
  plainProcessor: { phase: 'plain', label: '16 at once: processor a plain reply', unit: 'ms' },

  batchAccepted: { phase: 'batch', label: 'batch: accepted after', unit: 's' },
  batchEnded: { phase: 'batch', label: 'batch: ended after', unit: 's' },
  batchRate: { phase: 'batch', label: 'batch: requests ended', unit: '/s' },
  batchComplete: { phase: 'batch', label: 'batch: results complete and right', unit: '' },
  batchProcessor: { phase: 'batch', label: 'batch: processor a request', unit: 'ms' },

  upload1: { phase: 'uploads', label: 'upload of 1 MB', unit: 'ms' },
  upload10: { phase: 'uploads', label: 'upload of 10 MB', unit: 'ms' },
  upload50: { phase: 'uploads', label: 'upload of 50 MB', unit: 'ms' },

  chats0: { phase: 'lists', label: '50 chats at offset 0', unit: 'ms' },
  chats1000: { phase: 'lists', label: '50 chats at offset 1,000', unit: 'ms' },
  chats1000000: { phase: 'lists', label: '50 chats at offset 1,000,000', unit: 'ms' },
  messages0: { phase: 'lists', label: '50 messages at offset 0', unit: 'ms' },
  messages1000: { phase: 'lists', label: '50 messages at offset 1,000', unit: 'ms' },
  messages1000000: { phase: 'lists', label: '50 messages at offset 1,000,000', unit: 'ms' },

  serverMemory: { phase: 'memory', label: 'resident after the run: server process', unit: 'MB' },
  emulatorMemory: { phase: 'memory', label: 'resident after the run: engine processes', unit: 'MB' },
  peakMemory: { phase: 'memory', label: 'most that was ever resident, all processes', unit: 'MB' },
  threads: { phase: 'memory', label: 'threads after the run, all processes', unit: '' },
} as const satisfies Record<string, Figure>;

export type FigureName = keyof typeof figures;
export type Figures = Partial<Record<FigureName, number>>;

export const figureNames = Object.keys(figures) as FigureName[];
