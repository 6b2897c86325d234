import * as z from 'zod';
import { figureNames } from './figures.ts';

export const subjectNames = ['bare', 'service'] as const;
export type SubjectName = (typeof subjectNames)[number];

/** Of the first delta, milliseconds: percentiles 0 to 100. */
const distribution = z.array(z.number()).length(101);

const run = z.object({
  /** Counted from 1; the subjects of one run follow each other. */
  run: z.int(),
  subject: z.enum(subjectNames),
  figures: z.partialRecord(z.enum(figureNames), z.number()),
  distributions: z.object({ single: distribution.optional(), parallel: distribution.optional() }),
  /** When each request of the batch ended, seconds after its submission, ascending. */
  batchSeconds: z.array(z.number()).optional(),
  /** What was resident after the run, in all parts of all processes. */
  memory: z.array(z.object({ part: z.string(), threads: z.int(), megabytes: z.number() })).optional(),
  /** What came otherwise than it should have. */
  errors: z.array(z.string()),
});

/** What a function loads, and how long it takes from a fresh process until it could take its first event. */
const functionReport = z.object({
  name: z.string(),
  /** Of 1,024 bytes, before its first event. */
  kilobytes: z.number(),
  /** Above a bundle of its clients alone. */
  above: z.number(),
  modules: z.int(),
  /** Medians over the rounds; a ratio is to an empty handler, begun just before. */
  milliseconds: z.number(),
  ratio: z.number(),
  /** The same of processor time, which other work on the machine changes less. */
  processor: z.number(),
  processorRatio: z.number(),
});

/** What `--out` writes and `--draw` reads. */
export const report = z.object({
  format: z.literal(1),
  madeAt: z.iso.datetime(),
  machine: z.object({
    processors: z.int(),
    processor: z.string(),
    memoryBytes: z.int(),
    system: z.string(),
    node: z.string(),
    /** Of the minute before the first run: what else the machine did. */
    loadBefore: z.number(),
  }),
  /** How many of each, and what stands in no figure. */
  sizes: z.record(z.string(), z.number()),
  notes: z.array(z.string()),
  runs: z.array(run),
  functions: z.array(functionReport).optional(),
});

export type FunctionReport = z.infer<typeof functionReport>;
export type RunReport = z.infer<typeof run>;
export type Report = z.infer<typeof report>;
