import type { ExtractedText } from '#domain/files/text-extractor.ts';

export type Extracted = Pick<ExtractedText, 'text' | 'pageOffsets' | 'notices'>;
