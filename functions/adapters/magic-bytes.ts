import { filetypemime } from 'magic-bytes.js';
import type { ContentDetector } from '#domain/files/files.ts';

/** Newer Office files are ZIP archives, so the library returns several types for an archive. */
export const magicBytes: ContentDetector = { detect: (start) => [...new Set(filetypemime(start))] };
