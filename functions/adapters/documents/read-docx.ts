import PostalMime from 'postal-mime';
import { ExtractionFailure } from '#domain/files/files.ts';
import { readPlainText } from './decode-text.ts';
import { bounds, type Extracted, LeftOut } from './extracted.ts';
import { OfficePackage, ReadingAllowance } from './office-package.ts';
import { htmlText, readHtml } from './read-html.ts';
import { WordDocument } from './word-document.ts';

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

/** For `altChunk`: Word inserts such a document when it opens the document around it. */
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

/** For a web page that is stored as a mail (MHTML): its pictures are attachments. */
async function mailText(bytes: Uint8Array, leftOut: LeftOut): Promise<string> {
  const { html, text = '', attachments } = await PostalMime.parse(bytes);
  for (const { mimeType } of attachments) if (mimeType.startsWith('image/')) leftOut.add('picture');
  return html === undefined ? text : htmlText(html);
}
