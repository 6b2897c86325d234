import * as z from 'zod';
import { figureNames } from './figures.ts';

export const subjectNames = ['bare', 'service'] as const;
export type SubjectName = (typeof subjectNames)[number];

/** Percentiles 0 to 100 of the time to the first delta, in milliseconds. */
const distribution = z.array(z.number()).length(101);

const run = z.object({
  /** Counted from 1; the subjects of one run follow each other. */
  run: z.int(),
  subject: z.enum(subjectNames),
  figures: z.partialRecord(z.enum(figureNames), z.number()),
  distributions: z.object({ single: distribution.optional(), parallel: distribution.optional() }),
  /** When each request of the batch ended, in seconds after its submission, ascending. */
  batchSeconds: z.array(z.number()).optional(),
  /** Resident memory after the run, by part of all processes. */
  memory: z.array(z.object({ part: z.string(), threads: z.int(), megabytes: z.number() })).optional(),
  /** Wrong or missing replies and results. */
  errors: z.array(z.string()),
});

/** What a function loads, and how long a fresh process takes until it is ready for its first event. */
const functionReport = z.object({
  name: z.string(),
  /** Loaded before its first event; 1 KB is 1,024 bytes. */
  kilobytes: z.number(),
  /** KB more than the function's baseline, a bundle of only its clients. */
  above: z.number(),
  modules: z.int(),
  /** Median over the rounds. A ratio is to an empty handler that was started just before. */
  milliseconds: z.number(),
  ratio: z.number(),
  /** Processor time in milliseconds, which other load on the machine changes less. */
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
    /** The load average of the minute before the first run. */
    loadBefore: z.number(),
  }),
  /** The numbers of measured replies, requests and reads; see `Sizes`. */
  sizes: z.record(z.string(), z.number()),
  notes: z.array(z.string()),
  runs: z.array(run),
  functions: z.array(functionReport).optional(),
});

export type FunctionReport = z.infer<typeof functionReport>;
export type RunReport = z.infer<typeof run>;
export type Report = z.infer<typeof report>;
