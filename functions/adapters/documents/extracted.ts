import type { ExtractedText } from '#domain/files/text-extractor.ts';

/** Text with the places where its pages begin. */
export type Extracted = Pick<ExtractedText, 'text' | 'pageOffsets'>;
