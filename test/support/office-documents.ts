import { zip } from './sample-files.ts';

const relationships = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const relationsOf = (entries: [id: string, type: string, target: string][]): string =>
  `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${entries
    .map(
      ([id, type, target]) => `<Relationship Id="${id}" Type="${relationships}/${type}" Target="${target}"/>`,
    )
    .join('')}</Relationships>`;

const slide = (paragraphs: string[]): string =>
  `<p:sld xmlns:p="p" xmlns:a="a"><p:txBody>${paragraphs
    .map((text) => `<a:p><a:r><a:t>${text}</a:t></a:r></a:p>`)
    .join('')}<a:p><a:fld type="slidenum"><a:t>7</a:t></a:fld></a:p></p:txBody></p:sld>`;

/** A .pptx with these slides. Their files are numbered in reverse order; the first slide has a note. */
export function presentation(slides: string[][], note: string): Buffer {
  const fileOf = (index: number): string => `slide${slides.length - index}.xml`;
  return zip({
    'ppt/presentation.xml': `<p:presentation xmlns:p="p" xmlns:r="r"><p:sldIdLst>${slides
      .map((_, index) => `<p:sldId id="${index}" r:id="r${index}"/>`)
      .join('')}</p:sldIdLst></p:presentation>`,
    'ppt/_rels/presentation.xml.rels': relationsOf(
      slides.map((_, index) => [`r${index}`, 'slide', `slides/${fileOf(index)}`]),
    ),
    ...Object.fromEntries(
      slides.map((paragraphs, index) => [`ppt/slides/${fileOf(index)}`, slide(paragraphs)]),
    ),
    [`ppt/slides/_rels/${fileOf(0)}.rels`]: relationsOf([['n', 'notesSlide', '../notesSlides/note.xml']]),
    'ppt/notesSlides/note.xml': slide([note]),
  });
}

/** A .docx with this body and these relationships. */
export const wordBody = (body: string, relations: [string, string, string][] = []): Buffer =>
  zip({
    '[Content_Types].xml':
      '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>',
    '_rels/.rels': relationsOf([['r', 'officeDocument', 'word/document.xml']]),
    'word/_rels/document.xml.rels': relationsOf(relations),
    'word/document.xml': `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:r="${relationships}" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><w:body>${body}</w:body></w:document>`,
  });

/** A PDF with a page for each list of lines. */
export function pdfOf(pages: string[][], stream?: { dictionary: string; bytes: Buffer }): Buffer {
  const contentOf = (lines: string[]) =>
    stream ?? {
      dictionary: '',
      bytes: Buffer.from(
        `BT /F1 12 Tf 14 TL 72 720 Td ${lines.map((line) => `(${line}) Tj T*`).join(' ')} ET`,
      ),
    };
  const objects: Buffer[] = [
    Buffer.from('<< /Type /Catalog /Pages 2 0 R >>'),
    Buffer.from(
      `<< /Type /Pages /Count ${pages.length} /Kids [${pages.map((_, index) => `${4 + index * 2} 0 R`).join(' ')}] >>`,
    ),
    Buffer.from('<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>'),
    ...pages.flatMap((lines, index) => {
      const { dictionary, bytes } = contentOf(lines);
      return [
        Buffer.from(
          `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents ${5 + index * 2} 0 R /Resources << /Font << /F1 3 0 R >> >> >>`,
        ),
        Buffer.concat([
          Buffer.from(`<< /Length ${bytes.length} ${dictionary} >>\nstream\n`),
          bytes,
          Buffer.from('\nendstream'),
        ]),
      ];
    }),
  ];
  const chunks: Buffer[] = [Buffer.from('%PDF-1.4\n')];
  const offsets: string[] = [];
  let at = 9;
  for (const [index, object] of objects.entries()) {
    offsets.push(`${String(at).padStart(10, '0')} 00000 n \n`);
    const chunk = Buffer.concat([Buffer.from(`${index + 1} 0 obj\n`), object, Buffer.from('\nendobj\n')]);
    chunks.push(chunk);
    at += chunk.length;
  }
  const size = objects.length + 1;
  chunks.push(
    Buffer.from(
      `xref\n0 ${size}\n0000000000 65535 f \n${offsets.join('')}trailer\n<< /Size ${size} /Root 1 0 R >>\nstartxref\n${at}\n%%EOF\n`,
    ),
  );
  return Buffer.concat(chunks);
}
