import PostalMime from 'postal-mime';
import { ExtractionFailure } from '#domain/files/services.ts';
import { readPlainText } from './decode-text.ts';
import { bounds, type Extracted, LeftOut } from './extracted.ts';
import { OfficePackage, ReadingAllowance } from './office-package.ts';
import { htmlText, readHtml } from './read-html.ts';
import { WordDocument } from './word-document.ts';

/** Reads a Word document as Markdown: headers, the body, then footers, notes and comments. */
export async function readDocx(bytes: Uint8Array): Promise<Extracted> {
  const leftOut = new LeftOut();
  const text = await documentText(bytes, { leftOut, allowance: new ReadingAllowance(), level: 1 });
  return { text, pageOffsets: [], notices: leftOut.notices() };
}

const readTypes = new Set([
  ...['styles', 'numbering', 'header', 'footer', 'footnotes', 'endnotes', 'comments'],
  ...['chart', 'chartEx', 'chartUserShapes', 'diagramData', 'aFChunk'],
]);

interface Reading {
  leftOut: LeftOut;
  allowance: ReadingAllowance;
  /** The level of this document: 1, or 2 and more for a document in another one. */
  level: number;
}

async function documentText(bytes: Uint8Array, reading: Reading): Promise<string> {
  const { leftOut, allowance } = reading;
  const opened = new OfficePackage(bytes, 'word/document.xml', readTypes, allowance);
  const chunks = new Map<string, string>();
  for (const part of opened.ofType('aFChunk')) {
    const chunk = opened.part(part);
    if (chunk === undefined) continue;
    const text = await chunkText(chunk, opened.contentType(part), reading).catch((error) => {
      if (error instanceof ExtractionFailure && error.kind === 'tooLarge') throw error;
      return undefined;
    });
    if (text === undefined) leftOut.add('embedded document');
    else chunks.set(part, text);
  }
  return new WordDocument(opened, leftOut, chunks).read();
}

/**
 * Reads a document that Word inserts when it opens the document around it (`altChunk`).
 * @returns its text; undefined if it is RTF or nested too deeply
 */
async function chunkText(
  bytes: Uint8Array,
  contentType: string,
  reading: Reading,
): Promise<string | undefined> {
  const isArchive = bytes[0] === 0x50 && bytes[1] === 0x4b;
  const isRtf = bytes[0] === 0x7b && bytes[1] === 0x5c;
  if (isRtf || (isArchive && reading.level === bounds.documents)) return undefined;
  if (isArchive) return documentText(bytes, { ...reading, level: reading.level + 1 });
  if (contentType.startsWith('message/')) return mailText(bytes, reading.leftOut);
  if (contentType.startsWith('text/plain')) return readPlainText(bytes).text;
  return (await readHtml(bytes)).text;
}

/**
 * Reads a web page that Word has stored as a mail (MHTML). Its pictures are attachments, and are counted as left out.
 */
async function mailText(bytes: Uint8Array, leftOut: LeftOut): Promise<string> {
  const { html, text = '', attachments } = await PostalMime.parse(bytes);
  for (const { mimeType } of attachments) if (mimeType.startsWith('image/')) leftOut.add('picture');
  return html === undefined ? text : htmlText(html);
}
