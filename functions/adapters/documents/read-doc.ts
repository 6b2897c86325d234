import WordExtractor from 'word-extractor';
import { ExtractionFailure } from '#domain/files/files.ts';
import type { Extracted } from './extracted.ts';

export async function readDoc(bytes: Uint8Array): Promise<Extracted> {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const start = file.subarray(0, 1024).toString('latin1').trimStart().toLowerCase();
  if (start.startsWith('{\\rtf'))
    throw new ExtractionFailure('unreadable', 'is an RTF document: save it as .docx');
  // Programs export web pages as .doc, and people rename files.
  if (start.startsWith('pk')) return (await import('./read-docx.ts')).readDocx(bytes);
  if (/^(?:<!doctype html|<html)/.test(start)) return (await import('./read-html.ts')).readHtml(bytes);
  rejectEncrypted(file);
  const document = await new WordExtractor().extract(file);
  const exact = { filterUnicode: false };
  const texts = [
    document.getBody(exact),
    document.getTextboxes({ ...exact, includeHeadersAndFooters: false }),
    document.getFootnotes(exact),
    document.getEndnotes(exact),
  ];
  return { text: texts.filter((text) => text !== '').join('\n\n'), pageOffsets: [] };
}

/** A flag in the header of the text stream shows that the document is encrypted. */
function rejectEncrypted(file: Buffer): void {
  for (let at = 512; at + 12 <= file.length; at += 512) {
    if (file.readUInt16LE(at) !== 0xa5ec) continue;
    if ((file.readUInt16LE(at + 10) & 0x0100) !== 0)
      throw new ExtractionFailure('encrypted', 'is protected by a password');
    return;
  }
}
