import { filetypemime } from 'magic-bytes.js';
import type { ContentDetector } from '#domain/files/check-upload.ts';

/** Newer Office files are ZIP archives, so the library returns several types for an archive. */
export const magicBytes: ContentDetector = { detect: (start) => [...new Set(filetypemime(start))] };
