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
  /** What came otherwise than it should have. */
  errors: z.array(z.string()),
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
  runs: z.array(run).min(1),
});

export type RunReport = z.infer<typeof run>;
export type Report = z.infer<typeof report>;
