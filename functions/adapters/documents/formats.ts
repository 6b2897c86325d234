import { extname } from 'node:path';
import { ExtractionFailure } from '#domain/files/extraction-failure.ts';
import type { SourceDocument } from '#domain/files/text-extractor.ts';

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
export function formatOf({ name, contentType }: Pick<SourceDocument, 'name' | 'contentType'>): {
  format: Format;
  contentType: string;
} {
  const extension = extname(name).toLowerCase();
  const known =
    byExtension[extension] ?? Object.values(byExtension).find((entry) => entry.contentType === contentType);
  if (known !== undefined) return known;
  if (contentType?.startsWith('text/')) return { format: 'text', contentType };
  throw new ExtractionFailure(
    'unsupported',
    `has no extension that text can be read from: ${Object.keys(byExtension).join(', ')}`,
  );
}
