import { filetypemime } from 'magic-bytes.js';
import type { ContentDetector } from '#domain/files/content-detector.ts';

/** By the bytes that a type's files begin with. Office files are archives, so an archive may be any of them. */
export const magicBytes: ContentDetector = {
  detect: (start) => [...new Set(filetypemime(start))],
};
