import { pdfFile, zip } from './sample-files.ts';

const relationships = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const relationsOf = (entries: [id: string, type: string, target: string][]): string =>
  `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${entries
    .map(
      ([id, type, target]) => `<Relationship Id="${id}" Type="${relationships}/${type}" Target="${target}"/>`,
    )
    .join('')}</Relationships>`;

/** Namespaces of the parts below. The prefixes are the usual ones. */
export const officeNamespaces = [
  ['w', 'http://schemas.openxmlformats.org/wordprocessingml/2006/main'],
  ['p', 'http://schemas.openxmlformats.org/presentationml/2006/main'],
  ['a', 'http://schemas.openxmlformats.org/drawingml/2006/main'],
  ['c', 'http://schemas.openxmlformats.org/drawingml/2006/chart'],
  ['dgm', 'http://schemas.openxmlformats.org/drawingml/2006/diagram'],
  ['m', 'http://schemas.openxmlformats.org/officeDocument/2006/math'],
  ['mc', 'http://schemas.openxmlformats.org/markup-compatibility/2006'],
  ['r', relationships],
  ['v', 'urn:schemas-microsoft-com:vml'],
  ['o', 'urn:schemas-microsoft-com:office:office'],
]
  .map(([prefix, namespace]) => `xmlns:${prefix}="${namespace}"`)
  .join(' ');

type Relation = [id: string, type: string, target: string];
type Parts = Record<string, string | Buffer>;

/** A .docx with this body, and parts to which the body has relationships. */
export const wordBody = (body: string, relations: Relation[] = [], parts: Parts = {}): Buffer =>
  zip({
    '[Content_Types].xml':
      '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="mht" ContentType="message/rfc822"/><Default Extension="txt" ContentType="text/plain"/><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>',
    '_rels/.rels': relationsOf([['r', 'officeDocument', 'word/document.xml']]),
    'word/_rels/document.xml.rels': relationsOf(relations),
    'word/document.xml': `<w:document ${officeNamespaces}><w:body>${body}</w:body></w:document>`,
    ...parts,
  });

/** A .pptx with slides of this content, whose files are numbered in reverse order, and parts to which all slides have relationships. */
export const slidesWith = (slides: string[], relations: Relation[] = [], parts: Parts = {}): Buffer =>
  zip({
    '_rels/.rels': relationsOf([['r', 'officeDocument', 'ppt/presentation.xml']]),
    'ppt/presentation.xml': `<p:presentation ${officeNamespaces}>${slides
      .map((_, index) => `<p:sldId id="${index}" r:id="r${index}"/>`)
      .join('')}</p:presentation>`,
    'ppt/_rels/presentation.xml.rels': relationsOf([
      ...slides.map((_, index): Relation => [`r${index}`, 'slide', `slides/${slides.length - index}.xml`]),
      ['authors', 'commentAuthors', 'authors.xml'],
    ]),
    'ppt/authors.xml': `<p:cmAuthorLst ${officeNamespaces}/>`,
    ...Object.fromEntries(
      slides.flatMap((slide, index) => [
        [`ppt/slides/${slides.length - index}.xml`, slide.replace('<p:sld', `<p:sld ${officeNamespaces}`)],
        [`ppt/slides/_rels/${slides.length - index}.xml.rels`, relationsOf(relations)],
      ]),
    ),
    ...parts,
  });

/** A .docx with one paragraph. */
export const docx = (text: string): Buffer => wordBody(`<w:p><w:r><w:t>${text}</w:t></w:r></w:p>`);

/** A .pptx with these paragraphs on its slides, each of which has a number. */
export const presentation = (slides: string[][]): Buffer =>
  slidesWith(
    slides.map(
      (paragraphs) =>
        `<p:sld><p:txBody>${paragraphs
          .map((text) => `<a:p><a:r><a:t>${text}</a:t></a:r></a:p>`)
          .join('')}<a:p><a:fld type="slidenum"><a:t>7</a:t></a:fld></a:p></p:txBody></p:sld>`,
    ),
  );

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
  return pdfFile(objects);
}

/** A PDF of one page with one line. */
export const pdf = (text: string): Buffer => pdfOf([[text]]);

const pdfStream = (content: string): string =>
  `<< /Length ${content.length} >>\nstream\n${content}\nendstream`;

/**
 * A PDF of three pages, of which the second is missing in the file. The first has Japanese text in an encoding that it
 * only names, a form, notes, and annotations that are not shown.
 */
export function formPdf(pages = [4, 99, 5]): Buffer {
  const widget = (entries: string): string => `<< /Subtype /Widget /Rect [0 0 9 9] ${entries} >>`;
  const annots = [
    widget('/FT /Tx /T (name) /TU (Full name) /V (Jane Doe)'),
    widget('/FT /Tx /T (empty)'),
    widget('/FT /Tx /T (secret) /Ff 8192 /V (swordfish)'),
    widget('/FT /Tx /T (hidden) /F 2 /V (not shown)'),
    widget('/FT /Btn /T (agree) /V /Yes /AS /Yes /AP << /N << /Yes 3 0 R /Off 3 0 R >> >>'),
    widget('/FT /Btn /T (refuse) /V /Off /AS /Off /AP << /N << /Yes 3 0 R /Off 3 0 R >> >>'),
    widget('/FT /Ch /Ff 131072 /T (country) /V (NO) /Opt [[(NO) (Norway)] [(SE) (Sweden)]]'),
    '<< /Subtype /FreeText /Rect [0 0 9 9] /Contents (A note on the page) /DA (/F1 12 Tf 0 g) >>',
    '<< /Subtype /Text /Rect [0 0 9 9] /Contents (Is this true?) >>',
  ];
  const page = (content: number, font: number, entries: string): string =>
    `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents ${content} 0 R /Resources << /Font << /F1 ${font} 0 R >> >> ${entries} >>`;
  return pdfFile([
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Count ${pages.length} /Kids [${pages.map((number) => `${number} 0 R`).join(' ')}] >>`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>',
    page(6, 8, `/Annots [${annots.join(' ')}]`),
    page(7, 3, ''),
    pdfStream('BT /F1 12 Tf 72 720 Td <93fa967b8cea> Tj ET'),
    pdfStream('BT /F1 12 Tf 72 720 Td (The third page) Tj ET'),
    '<< /Type /Font /Subtype /Type0 /BaseFont /Japan1 /Encoding /90ms-RKSJ-H /DescendantFonts [9 0 R] >>',
    '<< /Type /Font /Subtype /CIDFontType0 /BaseFont /Japan1 /CIDSystemInfo << /Registry (Adobe) /Ordering (Japan1) /Supplement 2 >> /FontDescriptor 10 0 R /DW 1000 >>',
    '<< /Type /FontDescriptor /FontName /Japan1 /Flags 4 /FontBBox [0 -200 1000 900] /ItalicAngle 0 /Ascent 800 /Descent -200 /CapHeight 700 /StemV 80 >>',
  ]);
}
