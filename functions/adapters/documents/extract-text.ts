import { type ExtractedText, ExtractionFailure, type SourceDocument } from '#domain/files/files.ts';
import { bounds, type Extracted, type Format, formatOf, tooManyCharacters } from './extracted.ts';

interface Reader {
  name: string;
  load: () => Promise<(bytes: Uint8Array, charset?: string) => Extracted | Promise<Extracted>>;
}

const readers: Readonly<Record<Format, Reader>> = {
  text: { name: 'text', load: async () => (await import('./decode-text.ts')).readPlainText },
  html: { name: 'an HTML page', load: async () => (await import('./read-html.ts')).readHtml },
  pdf: { name: 'a PDF', load: async () => (await import('./read-pdf.ts')).readPdf },
  docx: { name: 'a Word document (.docx)', load: async () => (await import('./read-docx.ts')).readDocx },
  doc: { name: 'a Word document (.doc)', load: async () => readDoc },
  pptx: {
    name: 'a PowerPoint presentation (.pptx)',
    load: async () => (await import('./read-pptx.ts')).readPptx,
  },
};

/**
 * Call it only in a worker thread: a hostile document can block the thread for long.
 * @throws ExtractionFailure
 */
export async function extractText(document: SourceDocument): Promise<ExtractedText> {
  const { format, contentType } = formatOf(document);
  if (document.bytes.length > bounds.fileBytes)
    throw new ExtractionFailure('tooLarge', `is larger than ${bounds.fileBytes / 1024 / 1024} MB`);
  if (document.bytes.length === 0) throw new ExtractionFailure('empty', 'is empty');
  const { text, pageOffsets, notices = [] } = await readOrReject(format, document);
  if (text.length > bounds.characters) throw tooManyCharacters();
  if (text.trim() === '') {
    const reasons = [...(format === 'pdf' ? [pdfWithoutText] : []), ...notices];
    throw new ExtractionFailure('empty', ['has no text', reasons.join('; ')].filter(Boolean).join(': '));
  }
  return { text: text.toWellFormed(), pageOffsets, contentType, ...(notices.length > 0 && { notices }) };
}

const pdfWithoutText = 'its pages may be pictures, whose text must be recognized first';

async function readOrReject(format: Format, { bytes, contentType = '' }: SourceDocument): Promise<Extracted> {
  const { name, load } = readers[format];
  const read = await load();
  try {
    return await read(bytes, /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(contentType)?.[1]);
  } catch (error) {
    if (error instanceof ExtractionFailure) throw error;
    throw new ExtractionFailure('unreadable', `cannot be read as ${name}`, { cause: error });
  }
}

async function readDoc(bytes: Uint8Array): Promise<Extracted> {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const start = file.subarray(0, 1024).toString('latin1').trimStart().toLowerCase();
  if (start.startsWith('{\\rtf'))
    throw new ExtractionFailure('unreadable', 'is an RTF document: save it as .docx');
  // Programs export web pages as .doc, and people rename files.
  if (start.startsWith('pk')) return (await import('./read-docx.ts')).readDocx(bytes);
  if (/^(?:<!doctype html|<html)/.test(start)) return (await import('./read-html.ts')).readHtml(bytes);
  rejectEncrypted(file);
  const { default: WordExtractor } = await import('word-extractor');
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
