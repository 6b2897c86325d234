import { deflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { threadedTextExtractor } from '#adapters/documents/threaded-text-extractor.ts';
import { formPdf, pdfOf, presentation, wordBody } from '#support/office-documents.ts';
import { zip } from '#support/sample-files.ts';
import { wordDocument } from '#support/word-document.ts';

const thread = new URL('../../functions/adapters/documents/extraction-thread.ts', import.meta.url);
const extractor = threadedTextExtractor({ thread, milliseconds: 60_000, megabytes: 256 });
const extract = (name: string, bytes: string | Uint8Array) =>
  extractor.extract({ name, bytes: typeof bytes === 'string' ? Buffer.from(bytes) : bytes });
const textOf = async (name: string, bytes: string | Uint8Array) => (await extract(name, bytes)).text.trim();
const paragraph = (text: string) => `<w:p><w:r><w:t>${text}</w:t></w:r></w:p>`;

describe('the text of', () => {
  it('plain text, whatever wrote it', async () => {
    expect(await extract('a.txt', 'Grün\r\nund blau')).toEqual({
      text: 'Grün\nund blau',
      contentType: 'text/plain',
      pageOffsets: [],
    });
    expect(await textOf('utf-16.md', Buffer.from('\uFEFFGrün', 'utf16le'))).toBe('Grün');
    expect(await textOf('windows.csv', Buffer.from('Grün', 'latin1'))).toBe('Grün');
  });

  it('a PDF, page by page', async () => {
    const { text, pageOffsets, contentType } = await extract('a.pdf', pdfOf([['One', 'two.'], ['Three.']]));
    expect(text).toBe('One\ntwo.\n\nThree.\n\n');
    expect(pageOffsets).toEqual([0, text.indexOf('Three')]);
    expect(contentType).toBe('application/pdf');
  });

  it('a PDF with its form, notes, and texts in an encoding that it only names', async () => {
    const filled =
      '日本語\nA note on the page\n[Comment: Is this true?]\nFull name: Jane Doe\nagree: Yes\ncountry: Norway';
    const { text, pageOffsets, notices } = await extract('a.pdf', formPdf());
    expect(text).toBe(`${filled}\n\n\n\nThe third page\n\n`);
    expect(pageOffsets).toEqual([0, filled.length + 2, text.indexOf('The third')]);
    expect(notices).toEqual(['page 2 cannot be read']);
  });

  it.each<[what: string, pdf: Buffer, text: string, notices?: string[]]>([
    ['a first page that is missing', formPdf([99, 5]), 'The third page', ['page 1 cannot be read']],
    [
      'a page that is the tree of pages again',
      formPdf([5, 2, 4]),
      'The third page',
      ['page 2 and any after cannot be read'],
    ],
    ['an empty page', pdfOf([[], ['One'], []]), 'One', ['no text on pages 1, 3: perhaps pictures']],
    ['junk before its header', Buffer.concat([Buffer.alloc(2000, 'x\n'), pdfOf([['One']])]), 'One'],
  ])('a PDF with %s', async (_what, pdf, text, notices) => {
    const extracted = await extract('a.pdf', pdf);
    expect(extracted.text.trim()).toBe(text);
    expect(extracted.notices).toEqual(notices);
  });

  it('a Word document of the nineties', async () => {
    expect(await textOf('a.doc', wordDocument('Fourteen “days”: 多い'))).toBe('Fourteen “days”: 多い');
  });

  it('what is called .doc, and is an HTML page or a .docx', async () => {
    expect(await textOf('page.doc', '\n<html><p>A page')).toBe('A page');
    expect(await textOf('new.doc', wordBody(paragraph('A new document')))).toBe('A new document');
    await expect(extract('rich.doc', '{\\rtf1 Hello}')).rejects.toThrow(
      'is an RTF document: save it as .docx',
    );
  });

  it('a presentation, slide by slide in their order, without numbers', async () => {
    const { text, pageOffsets } = await extract('a.pptx', presentation([['First', 'A &amp; B'], ['Second']]));
    expect(text).toBe('First\nA & B\n\nSecond\n\n');
    expect(pageOffsets).toEqual([0, text.indexOf('Second')]);
  });

  it('a document whose name has no extension that is known, by its type', async () => {
    const bytes = Buffer.from('Hello');
    expect((await extractor.extract({ name: 'notes', contentType: 'text/x-log', bytes })).text).toBe('Hello');
    const page = {
      name: 'a.jpg',
      contentType: 'Text/HTML; charset=utf-8',
      bytes: Buffer.from('<p>Hello</p>'),
    };
    expect((await extractor.extract(page)).text).toBe('Hello');
    const gbk = Buffer.from('d0d5c3fb', 'hex');
    const table = { name: 'a.csv', contentType: 'text/csv; charset=gbk', bytes: gbk };
    expect((await extractor.extract(table)).text).toBe('姓名');
  });
});

/** Its trailer names an encryption. */
const encryptedPdf = (): Buffer => {
  const zeros = `<${'00'.repeat(32)}>`;
  const encryption = `/ID [<00><00>] /Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O ${zeros} /U ${zeros} >>`;
  const plain = pdfOf([['Secret']]).toString('latin1');
  return Buffer.from(plain.replace('/Root 1 0 R', `/Root 1 0 R ${encryption}`), 'latin1');
};

const manySpaces = (megabytes: number) => Buffer.alloc(megabytes * 1024 * 1024, ' ');

/** Changes the declared size of a ZIP's first part, which is all that a reader knows before it unpacks. */
function declare(archive: Buffer, bytes: number): Buffer {
  archive.writeUInt32LE(bytes, 22);
  archive.writeUInt32LE(bytes, archive.indexOf('PK\x01\x02') + 24);
  return archive;
}

describe('is refused, and the process goes on:', () => {
  const rejected: [why: string, kind: string, name: string, bytes: () => Buffer][] = [
    ['an unknown extension', 'unsupported', 'a.exe', () => Buffer.from('MZ')],
    ['no bytes', 'empty', 'a.txt', () => Buffer.alloc(0)],
    ['nothing but space', 'empty', 'a.md', () => Buffer.from(' \n ')],
    ['a PDF of pictures', 'empty', 'a.pdf', () => pdfOf([[]])],
    ['a PDF of no pages', 'empty', 'a.pdf', () => pdfOf([])],
    ['more than 50 MB', 'tooLarge', 'a.txt', () => Buffer.alloc(50 * 1024 * 1024 + 1, 'a')],
    ['bytes that are no text', 'unreadable', 'a.txt', () => Buffer.from([0, 1, 2, 3])],
    ['a PDF that is none', 'unreadable', 'a.pdf', () => Buffer.from('Hello')],
    ['a PDF with a password', 'encrypted', 'a.pdf', encryptedPdf],
    ['an archive that is cut off', 'unreadable', 'a.docx', () => wordBody(paragraph('x')).subarray(0, 300)],
    ['an archive without slides', 'unreadable', 'a.pptx', () => wordBody(paragraph('x'))],
    ['a .doc that is none', 'unreadable', 'a.doc', () => Buffer.from('{\\rtf1 Hello}')],
    ['a .doc with a password', 'encrypted', 'a.doc', () => wordDocument('x', { encrypted: true })],
    [
      'a .docx with a password',
      'encrypted',
      'a.docx',
      () =>
        Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.from('EncryptedPackage', 'utf16le')]),
    ],
    ['a zip bomb', 'tooLarge', 'a.docx', () => zip({ 'word/document.xml': manySpaces(60) })],
    [
      'a zip bomb that says it is small',
      'unreadable',
      'a.docx',
      () => declare(zip({ 'word/document.xml': manySpaces(60) }), 100),
    ],
    [
      'many parts that are too much together',
      'tooLarge',
      'a.pptx',
      () => {
        const part = manySpaces(40);
        const names = [1, 2, 3].map((number) => `slides/${number}.xml`);
        return zip({
          'ppt/presentation.xml': '<p:presentation/>',
          'ppt/_rels/presentation.xml.rels': `<Relationships>${names
            .map((name, index) => `<Relationship Id="s${index}" Type="slide" Target="${name}"/>`)
            .join('')}</Relationships>`,
          ...Object.fromEntries(names.map((name) => [`ppt/${name}`, part])),
        });
      },
    ],
    [
      'a PDF that unpacks to half a gigabyte',
      'tooLarge',
      'a.pdf',
      () => {
        const bytes = deflateSync(deflateSync(manySpaces(512), { level: 9 }));
        return pdfOf([[]], { dictionary: '/Filter [/FlateDecode /FlateDecode]', bytes });
      },
    ],
    ['a PDF of too many pages', 'tooLarge', 'a.pdf', () => pdfOf(Array.from({ length: 5001 }, () => ['x']))],
  ];

  it.each(rejected)('%s', async (_why, kind, name, bytes) => {
    await expect(extract(name, bytes())).rejects.toMatchObject({ name: 'ExtractionFailure', kind });
  });

  it('entities that a document defines: they neither grow nor name files', async () => {
    const entities =
      '<!DOCTYPE x [<!ENTITY a "grown"><!ENTITY b "&a;&a;"><!ENTITY c SYSTEM "file:///etc/hostname">]>';
    const archive = zip({
      'ppt/presentation.xml': '<p:presentation><p:sldId r:id="s"/></p:presentation>',
      'ppt/_rels/presentation.xml.rels':
        '<Relationships><Relationship Id="s" Type="slide" Target="slides/s.xml"/></Relationships>',
      'ppt/slides/s.xml': `${entities}<p:sld><a:p><a:t>Said: &b;&c;</a:t></a:p></p:sld>`,
    });
    expect(await textOf('a.pptx', archive)).toBe('Said: &b;&c;');
    const word = `${entities}<w:document>${paragraph('Said: &b;&c;')}</w:document>`;
    expect(await textOf('a.docx', zip({ 'word/document.xml': word }))).toBe('Said: &b;&c;');
  });

  it('what takes too long', async () => {
    const hurried = threadedTextExtractor({ thread, milliseconds: 1, megabytes: 256 });
    await expect(hurried.extract({ name: 'a.txt', bytes: Buffer.from('Hello') })).rejects.toMatchObject({
      kind: 'tooSlow',
      message: 'takes longer than 0.001 s to read',
    });
  });

  it('one that nobody waits for any more', async () => {
    const leaving = new AbortController();
    const reading = extractor.extract({ name: 'a.txt', bytes: Buffer.from('Hello') }, leaving.signal);
    leaving.abort(new Error('Gone'));
    await expect(reading).rejects.toThrow('Gone');
  });
});
