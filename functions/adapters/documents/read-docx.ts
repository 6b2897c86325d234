import { zipSync } from 'fflate';
import mammoth from 'mammoth';
import type { Extracted } from './extracted.ts';
import { openArchive } from './open-archive.ts';
import { htmlText } from './read-html.ts';

/** Reads headings, lists, tables, footnotes and endnotes as Markdown. Ignores pictures. */
export async function readDocx(bytes: Uint8Array): Promise<Extracted> {
  const parts = openArchive(bytes, (name) => /\.(xml|rels)$/i.test(name));
  // mammoth unpacks without limits, so it gets an archive whose parts are stored uncompressed.
  const unpacked = zipSync(Object.fromEntries(parts), { level: 0 });
  const { value } = await mammoth.convertToHtml(
    { buffer: Buffer.from(unpacked.buffer, unpacked.byteOffset, unpacked.length) },
    {
      externalFileAccess: false,
      convertImage: mammoth.images.imgElement(async () => ({ src: '' })),
      includeEmbeddedStyleMap: false,
    },
  );
  return { text: await htmlText(value), pageOffsets: [] };
}
