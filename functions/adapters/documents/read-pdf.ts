import { getDocumentProxy } from 'unpdf';
import { ExtractionFailure } from '#domain/files/extraction-failure.ts';
import { bounds } from './bounds.ts';
import type { Extracted } from './extracted.ts';
import { joinPages, tooManyPages } from './join-pages.ts';

type Pdf = Awaited<ReturnType<typeof getDocumentProxy>>;

export async function readPdf(bytes: Uint8Array): Promise<Extracted> {
  const pdf = await open(bytes);
  try {
    if (pdf.numPages > bounds.pages) throw tooManyPages();
    return await joinPages(pagesOf(pdf));
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
    });
  } catch (error) {
    if ((error as Error).name !== 'PasswordException') throw error;
    throw new ExtractionFailure('encrypted', 'is protected by a password', { cause: error });
  }
}

async function* pagesOf(pdf: Pdf): AsyncGenerator<string> {
  for (let number = 1; number <= pdf.numPages; number += 1) {
    const page = await pdf.getPage(number);
    const { items } = await page.getTextContent();
    let text = '';
    for (const item of items) if ('str' in item) text += item.hasEOL ? `${item.str}\n` : item.str;
    page.cleanup();
    yield text;
  }
}
