import { ExtractionFailure } from '#domain/files/extraction-failure.ts';
import type { Extracted } from './extracted.ts';

const byteOrderMarks = [
  { encoding: 'utf-8', bytes: [0xef, 0xbb, 0xbf] },
  { encoding: 'utf-16le', bytes: [0xff, 0xfe] },
  { encoding: 'utf-16be', bytes: [0xfe, 0xff] },
];

/** Decodes by the byte order mark; without one as UTF-8; if that is invalid, as windows-1252. */
export function readPlainText(bytes: Uint8Array): Extracted {
  const byteOrderMark = byteOrderMarks.find((byteOrderMark) =>
    byteOrderMark.bytes.every((byte, index) => bytes[index] === byte),
  );
  const text = decode(bytes, byteOrderMark?.encoding);
  if (text.includes('\0')) throw new ExtractionFailure('unreadable', 'is not text');
  return { text: text.replaceAll(/\r\n?/g, '\n'), pageOffsets: [] };
}

function decode(bytes: Uint8Array, byteOrderMark: string | undefined): string {
  try {
    return new TextDecoder(byteOrderMark ?? 'utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    if (byteOrderMark !== undefined) throw error;
    return new TextDecoder('windows-1252').decode(bytes);
  }
}
