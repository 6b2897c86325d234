import { fileURLToPath } from 'node:url';
import { getDocumentProxy } from 'unpdf';
import { ExtractionFailure } from '#domain/files/extraction-failure.ts';
import { bounds } from './bounds.ts';
import type { Extracted } from './extracted.ts';
import { joinPages, tooManyPages } from './join-pages.ts';
import { type Annotation, annotationTexts } from './pdf-annotations.ts';
import { withMissingPages } from './pdf-missing-pages.ts';

type Pdf = Awaited<ReturnType<typeof getDocumentProxy>>;

/** The tables of Chinese, Japanese and Korean encodings that PDFs name. The library reads the files that it needs. */
const cMapFolder = fileURLToPath(new URL('cmaps/', import.meta.resolve('pdfjs-dist/package.json')));

export async function readPdf(bytes: Uint8Array): Promise<Extracted> {
  const first = await readPages(bytes);
  if (first.unreadable.length === 0) return extractedOf(first);
  // The library ends at a page that is missing in the file. With an empty page in its place, it reads the others.
  const completed = withMissingPages(bytes);
  return extractedOf(completed === undefined ? first : await readPages(completed.bytes, completed.missing));
}

interface PdfPages {
  text: string;
  pageOffsets: number[];
  /** Numbers of pages. */
  unreadable: number[];
  empty: number[];
  /** Files that are attached to the PDF. */
  attachedFiles: number;
}

function extractedOf({ text, pageOffsets, unreadable, empty, attachedFiles }: PdfPages): Extracted {
  const pages = pageOffsets.length;
  if (pages === 0) throw new ExtractionFailure('empty', 'has no pages');
  if (unreadable.length === pages) throw new Error('No page can be read');
  // The library does not find pages after a broken one.
  const after = unreadable.at(-1) === pages ? ' and any after' : '';
  const notices = [
    ...(unreadable.length > 0 ? [`${pagesNamed(unreadable)}${after} cannot be read`] : []),
    ...(empty.length > 0 && text.trim() !== '' ? [`no text on ${pagesNamed(empty)}: perhaps pictures`] : []),
    ...(attachedFiles > 0 ? [`left out: ${attachedFiles} attached file${attachedFiles > 1 ? 's' : ''}`] : []),
  ];
  return { text, pageOffsets, notices };
}

/** As many as fit in a notice. */
const rangesNamed = 12;

/** Such as `pages 2, 4-7`. */
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

/** @param missing object numbers of pages that stand for missing ones */
async function readPages(bytes: Uint8Array, missing: ReadonlySet<number> = new Set()): Promise<PdfPages> {
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
      // No drawing, no fetching, no console output.
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

/** Undefined if the page stands for a missing one. */
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
