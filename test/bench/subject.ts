import type { MemoryPart } from '../../bin/local/memory-by-part.ts';
import type { Target } from './load-client.ts';
import type { SubjectName } from './report.ts';
import type { SeededPages } from './seeded-pages.ts';

/** A server that is measured, while it runs. */
export interface Subject {
  name: SubjectName;
  pid: number;
  target: Target;
  /** Makes the pages that the lists are read at, beside what is there. */
  seedPages(): Promise<SeededPages>;
  /** Ends it, and starts it again on the same data. @returns seconds until it answered */
  restart(): Promise<number>;
  /** What its process holds by part, where it can tell. */
  memoryByPart?(): Promise<MemoryPart[]>;
  close(): Promise<void>;
}

export interface SubjectOptions {
  /** Empty, and its own. */
  folder: string;
  /** The provider's address, with `/v1`. */
  model: string;
}

export interface StartedSubject {
  subject: Subject;
  /** Seconds until it answered, from an empty folder. */
  firstStart: number;
}
