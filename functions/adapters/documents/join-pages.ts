import { ExtractionFailure } from '#domain/files/extraction-failure.ts';
import { bounds } from './bounds.ts';
import type { Extracted } from './extracted.ts';

/**
 * Joins the texts of pages as paragraphs.
 * @throws ExtractionFailure `tooLarge` for too many pages or characters
 */
export async function joinPages(pages: AsyncIterable<string> | Iterable<string>): Promise<Extracted> {
  const pageOffsets: number[] = [];
  let text = '';
  for await (const page of pages) {
    if (pageOffsets.length === bounds.pages) throw tooManyPages();
    pageOffsets.push(text.length);
    text += `${page.trim()}\n\n`;
    if (text.length > bounds.characters)
      throw new ExtractionFailure('tooLarge', `has more than ${bounds.characters} characters of text`);
  }
  return { text, pageOffsets };
}

export const tooManyPages = () => new ExtractionFailure('tooLarge', `has more than ${bounds.pages} pages`);
