import { fileURLToPath } from 'node:url';
import { getDocumentProxy } from 'unpdf';
import { ExtractionFailure } from '#domain/files/files.ts';
import { bounds, type Extracted, joinPages, tooManyPages } from './extracted.ts';

/** PDF.js has no types for annotations. */
export interface Annotation {
  subtype?: string;
  annotationFlags?: number;
  contentsObj?: { str?: string };
  fieldType?: string;
  fieldName?: string;
  alternativeText?: string;
  fieldValue?: unknown;
  password?: boolean;
  checkBox?: boolean;
  radioButton?: boolean;
  exportValue?: string;
  buttonValue?: string;
  options?: { exportValue?: unknown; displayValue?: unknown }[];
}

const hidden = 0x1 | 0x2;

export const annotationTexts = (annotations: readonly Annotation[]): string[] =>
  annotations
    .filter(({ annotationFlags = 0 }) => (annotationFlags & hidden) === 0)
    .map((annotation) => (annotation.subtype === 'Widget' ? fieldText(annotation) : noteText(annotation)))
    .filter((text) => text !== '');

function noteText({ subtype, contentsObj }: Annotation): string {
  const contents = contentsObj?.str?.trim() ?? '';
  if (contents === '' || subtype === 'Link' || subtype === 'Popup') return '';
  return subtype === 'FreeText' ? contents : `[Comment: ${contents}]`;
}

function fieldText(field: Annotation): string {
  const value = field.password ? '' : shownValue(field).trim();
  return value === '' ? '' : `${field.alternativeText || field.fieldName}: ${value}`;
}

function shownValue({ fieldType, fieldValue, options, ...button }: Annotation): string {
  if (fieldType === 'Btn') {
    const value = button.radioButton ? button.buttonValue : button.exportValue;
    return (button.checkBox || button.radioButton) && fieldValue === value ? (value ?? '') : '';
  }
  const values = [fieldValue].flat().filter((value) => typeof value === 'string');
  return values
    .map((value) => options?.find(({ exportValue }) => exportValue === value)?.displayValue ?? value)
    .join(', ');
}

/** Matches lists of pages, and also those of other objects, such as form fields. */
const kids = /\/Kids\s*\[([^[\]]*)\]/g;
const reference = /(\d{1,10})\s+(\d{1,5})\s+R/g;
const dictionary = /(\d{1,10})\s+\d{1,5}\s+obj\s*<</g;

/** @returns undefined if it finds no missing object, as always in a PDF with compressed objects */
export function withMissingPages(
  bytes: Uint8Array,
): { bytes: Uint8Array; missing: ReadonlySet<number> } | undefined {
  const pdf = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
  if (pdf.includes('/ObjStm')) return undefined;
  const objects = new Set(Array.from(pdf.matchAll(dictionary), ([, number]) => Number(number)));
  const missing = new Set<number>();
  let added = '';
  for (const [, references = ''] of pdf.matchAll(kids))
    for (const [, number, generation] of references.matchAll(reference)) {
      if (objects.has(Number(number)) || missing.has(Number(number))) continue;
      missing.add(Number(number));
      added += `\n${number} ${generation} obj\n<< /Type /Page /MediaBox [0 0 1 1] >>\nendobj`;
    }
  if (missing.size === 0) return undefined;
  // No table of objects is at offset 0, so the library searches the file for all objects.
  return { bytes: Buffer.concat([bytes, Buffer.from(`${added}\nstartxref\n0\n%%EOF\n`)]), missing };
}

type Pdf = Awaited<ReturnType<typeof getDocumentProxy>>;

/** The tables of Chinese, Japanese and Korean encodings that PDFs name. */
const cMapFolder = fileURLToPath(new URL('cmaps/', import.meta.resolve('pdfjs-dist/package.json')));

export async function readPdf(bytes: Uint8Array): Promise<Extracted> {
  const first = await readPages(bytes);
  if (first.unreadable.length === 0) return extractedOf(first);
  // The library may stop at a page that is missing in the file.
  const completed = withMissingPages(bytes);
  return extractedOf(completed === undefined ? first : await readPages(completed.bytes, completed.missing));
}

type PdfPages = Awaited<ReturnType<typeof readPages>>;

function extractedOf({ text, pageOffsets, unreadable, empty, attachedFiles }: PdfPages): Extracted {
  const pages = pageOffsets.length;
  if (pages === 0) throw new ExtractionFailure('empty', 'has no pages');
  if (unreadable.length === pages) throw new Error('No page can be read');
  // The library may not have found pages after a last page that is broken.
  const after = unreadable.at(-1) === pages ? ' and any after' : '';
  const notices = [
    ...(unreadable.length > 0 ? [`${pagesNamed(unreadable)}${after} cannot be read`] : []),
    ...(empty.length > 0 && text.trim() !== '' ? [`no text on ${pagesNamed(empty)}: perhaps pictures`] : []),
    ...(attachedFiles > 0 ? [`left out: ${attachedFiles} attached file${attachedFiles > 1 ? 's' : ''}`] : []),
  ];
  return { text, pageOffsets, notices };
}

/** So that a notice is not cut: it may have 200 characters. */
const rangesNamed = 12;

function pagesNamed(numbers: readonly number[]): string {
  const ranges: [first: number, last: number][] = [];
  for (const number of numbers) {
    const range = ranges.at(-1);
    if (range?.[1] === number - 1) range[1] = number;
    else ranges.push([number, number]);
  }
  const named = ranges
    .slice(0, rangesNamed)
    .map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`));
  const more = ranges.length > rangesNamed ? ' and more' : '';
  return `page${numbers.length > 1 ? 's' : ''} ${named.join(', ')}${more}`;
}

/** @param missing object numbers of the empty pages that replace missing objects */
async function readPages(bytes: Uint8Array, missing: ReadonlySet<number> = new Set()) {
  const pdf = await open(bytes);
  try {
    if (pdf.numPages > bounds.pages) throw tooManyPages();
    const unreadable: number[] = [];
    const empty: number[] = [];
    async function* pages(): AsyncGenerator<string> {
      for (let number = 1; number <= pdf.numPages; number += 1) {
        const text = await textOf(pdf, number, missing).catch(() => undefined);
        if (text === undefined) unreadable.push(number);
        else if (text.trim() === '') empty.push(number);
        yield text ?? '';
      }
    }
    const { text, pageOffsets } = await joinPages(pages());
    const attached = await pdf.getAttachments().catch(() => null);
    return { text, pageOffsets, unreadable, empty, attachedFiles: Object.keys(attached ?? {}).length };
  } finally {
    await pdf.loadingTask.destroy();
  }
}

async function open(bytes: Uint8Array): Promise<Pdf> {
  try {
    // A copy, because the library detaches the buffer that it receives.
    return await getDocumentProxy(Uint8Array.from(bytes), {
      disableFontFace: true,
      useSystemFonts: false,
      useWorkerFetch: false,
      enableXfa: false,
      stopAtErrors: false,
      verbosity: 0,
      cMapUrl: cMapFolder,
    });
  } catch (error) {
    if ((error as Error).name !== 'PasswordException') throw error;
    throw new ExtractionFailure('encrypted', 'is protected by a password', { cause: error });
  }
}

async function textOf(pdf: Pdf, number: number, missing: ReadonlySet<number>): Promise<string | undefined> {
  const page = await pdf.getPage(number);
  if (page.ref !== null && missing.has(page.ref.num)) return undefined;
  const { items } = await page.getTextContent();
  let text = '';
  for (const item of items) if ('str' in item) text += item.hasEOL ? `${item.str}\n` : item.str;
  const annotations: Annotation[] = await page.getAnnotations().catch(() => []);
  page.cleanup();
  return [text.trim(), ...annotationTexts(annotations)].join('\n');
}
