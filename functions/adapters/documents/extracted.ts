import { extname } from 'node:path';
import {
  type ExtractedText,
  ExtractionFailure,
  essenceOf,
  type SourceDocument,
} from '#domain/files/files.ts';
import { groupsOf } from '#domain/platform/services.ts';

export const bounds = {
  /** The limit of an uploaded file (specification, section 8). */
  fileBytes: 50 * 1024 * 1024,
  partBytes: 50 * 1024 * 1024,
  /** For the sum of unpacked parts, and for the sum of reads of parts, both with documents in the document. */
  partsBytes: 100 * 1024 * 1024,
  /** Each part costs time, even if it is not unpacked. */
  parts: 20_000,
  /** Levels of elements in XML. A table in a table adds 3. */
  depth: 10_000,
  /** Levels of .docx in each other, the outer one included. Each has its unpacked parts in memory. */
  documents: 3,
  /** Levels of parts in a part, such as a chart on a slide, the outer part included. */
  partLevels: 10,
  /** At 1 to 20 ms a page, 5,000 pages take 5 to 100 s. */
  pages: 5000,
  /** More than the limit of a workspace's knowledge (10 MB), whose error for a text between the two says more. */
  characters: 20 * 1024 * 1024,
} as const;

export type Extracted = Pick<ExtractedText, 'text' | 'pageOffsets' | 'notices'>;

const kinds = {
  picture: 'pictures',
  video: 'videos',
  'audio clip': 'audio clips',
  'ink drawing': 'ink drawings',
  'embedded sheet': 'embedded sheets',
  'embedded document': 'embedded documents',
  'embedded presentation': 'embedded presentations',
  'embedded equation': 'embedded equations',
  'embedded object': 'embedded objects',
  'linked document': 'linked documents',
  'chart without data': 'charts without data',
  'missing part': 'missing parts',
} as const;

/** So that a notice is not cut: it may have 200 characters. */
const kindsOfNotice = 6;

export type LeftOutKind = keyof typeof kinds;

export class LeftOut {
  private readonly counts = new Map<LeftOutKind, number>();
  total = 0;

  add(kind: LeftOutKind): void {
    this.total += 1;
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1);
  }

  notices(): string[] {
    const counts = [...this.counts].map(([kind, count]) => `${count} ${count === 1 ? kind : kinds[kind]}`);
    return groupsOf(counts, kindsOfNotice).map((group) => `left out: ${group.join(', ')}`);
  }
}

/** @throws ExtractionFailure `tooLarge` for too many pages or characters */
export async function joinPages(pages: AsyncIterable<string> | Iterable<string>): Promise<Extracted> {
  const pageOffsets: number[] = [];
  let text = '';
  for await (const page of pages) {
    if (pageOffsets.length === bounds.pages) throw tooManyPages();
    pageOffsets.push(text.length);
    text += `${page.trim()}\n\n`;
    if (text.length > bounds.characters) throw tooManyCharacters();
  }
  return { text, pageOffsets };
}

export const tooManyCharacters = () =>
  new ExtractionFailure('tooLarge', `has more than ${bounds.characters} characters of text`);

export const tooManyPages = () => new ExtractionFailure('tooLarge', `has more than ${bounds.pages} pages`);

export type Format = 'text' | 'html' | 'pdf' | 'docx' | 'doc' | 'pptx';

const office = 'application/vnd.openxmlformats-officedocument';

const byExtension: Readonly<Record<string, { format: Format; contentType: string }>> = {
  '.txt': { format: 'text', contentType: 'text/plain' },
  '.md': { format: 'text', contentType: 'text/markdown' },
  '.csv': { format: 'text', contentType: 'text/csv' },
  '.html': { format: 'html', contentType: 'text/html' },
  '.pdf': { format: 'pdf', contentType: 'application/pdf' },
  '.docx': { format: 'docx', contentType: `${office}.wordprocessingml.document` },
  '.doc': { format: 'doc', contentType: 'application/msword' },
  '.pptx': { format: 'pptx', contentType: `${office}.presentationml.presentation` },
};

/** @throws ExtractionFailure `unsupported` if neither the extension nor the content type is supported */
export function formatOf({ name, contentType = '' }: Pick<SourceDocument, 'name' | 'contentType'>): {
  format: Format;
  contentType: string;
} {
  const extension = extname(name).toLowerCase();
  const essence = essenceOf(contentType);
  const known =
    byExtension[extension] ?? Object.values(byExtension).find((entry) => entry.contentType === essence);
  if (known !== undefined) return known;
  if (essence.startsWith('text/')) return { format: 'text', contentType };
  throw new ExtractionFailure(
    'unsupported',
    `has no extension that text can be read from: ${Object.keys(byExtension).join(', ')}`,
  );
}
