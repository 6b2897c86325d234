import type { MemoryPart } from '../../bin/local/memory-by-part.ts';
import type { Target } from './load-client.ts';
import type { SubjectName } from './report.ts';
import type { SeededPages } from './seeded-pages.ts';

/** A running server that is measured. */
export interface Subject {
  name: SubjectName;
  pid: number;
  target: Target;
  /** Adds the pages that the list phase reads to the existing data. */
  seedPages(): Promise<SeededPages>;
  /** Restarts the server on the same data. @returns seconds until its first response */
  restart(): Promise<number>;
  /** The memory of its process by part, if it can report that. */
  memoryByPart?(): Promise<MemoryPart[]>;
  close(): Promise<void>;
}

export interface SubjectOptions {
  /** An empty folder of its own. */
  folder: string;
  /** The provider's address, with `/v1`. */
  model: string;
}

export interface StartedSubject {
  subject: Subject;
  /** Seconds from the start with an empty folder to the first response. */
  firstStart: number;
}
