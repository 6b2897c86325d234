import { ExtractionFailure } from '#domain/files/extraction-failure.ts';
import { decodeText } from './decode-text.ts';
import type { Extracted } from './extracted.ts';

/** @param charset declared with the file */
export function readPlainText(bytes: Uint8Array, charset?: string): Extracted {
  const { text, notices } = decodeText(bytes, charset);
  if (text.includes('\0')) throw new ExtractionFailure('unreadable', 'is not text');
  return { text: text.replaceAll(/\r\n?/g, '\n'), pageOffsets: [], notices };
}
