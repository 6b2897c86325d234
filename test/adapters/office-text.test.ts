import { zipSync } from 'fflate';
import { describe, expect, it } from 'vitest';
import { extractText } from '#adapters/documents/extract-text.ts';
import { bounds } from '#adapters/documents/extracted.ts';
import { officeNamespaces, slidesWith, wordBody } from '#support/office-documents.ts';
import { zip } from '#support/sample-files.ts';

const read = (name: string, bytes: Buffer) => extractText({ name, bytes });
const wordText = async (...document: Parameters<typeof wordBody>) =>
  (await read('a.docx', wordBody(...document))).text;
const slidesText = async (...presentation: Parameters<typeof slidesWith>) =>
  (await read('a.pptx', slidesWith(...presentation))).text.trim();

const run = (text: string) => `<w:r><w:t xml:space="preserve">${text}</w:t></w:r>`;
const paragraph = (text: string) => `<w:p>${run(text)}</w:p>`;
const part = (name: string, content: string) => `<${name} ${officeNamespaces}>${content}</${name}>`;
const field = (type: string) => `<w:r><w:fldChar w:fldCharType="${type}"/></w:r>`;
const instruction = (text: string) => `<w:r><w:instrText>${text}</w:instrText></w:r>`;

describe('a Word document', () => {
  it('has the documents that Word inserts when it opens it', async () => {
    const mail = (html: string) =>
      `MIME-Version: 1.0\r\nContent-Type: multipart/related; boundary="b"\r\n\r\n--b\r\nContent-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n${html}\r\n--b--\r\n`;
    const kinds: [name: string, content: string | Buffer][] = [
      ['a.htm', '<h1>From HTML</h1>'],
      ['b.mht', mail('<p>From a mail: Gr=C3=BCn</p>')],
      ['c.txt', 'From plain text'],
      ['d.docx', wordBody(paragraph('From Word'))],
      ['e.docx', 'PK is damaged'],
      ['f.rtf', '{\\rtf1 Hello}'],
    ];
    const { text, notices } = await read(
      'a.docx',
      wordBody(
        `${paragraph('Before')}${[...kinds, ['gone'], ['web']].map(([name]) => `<w:altChunk r:id="${name}"/>`).join('')}${paragraph('After')}`,
        [
          ...kinds.map(([name]): [string, string, string] => [name, 'aFChunk', `/word/${name}`]),
          ['web', 'aFChunk', 'http://127.0.0.1/" TargetMode="External'],
        ],
        Object.fromEntries(kinds.map(([name, content]) => [`word/${name}`, content])),
      ),
    );
    expect(text).toBe('Before\n\n# From HTML\n\nFrom a mail: Grün\n\nFrom plain text\n\nFrom Word\n\nAfter');
    expect(notices).toEqual(['left out: 2 embedded documents, 1 missing part, 1 linked document']);
  });

  it('is read to the third level of documents in it', async () => {
    const nested = (level: number): Buffer =>
      level === 0
        ? wordBody(paragraph('Innermost'))
        : wordBody(`<w:altChunk r:id="c"/>${paragraph(`Around ${level}`)}`, [['c', 'aFChunk', 'c.docx']], {
            'word/c.docx': nested(level - 1),
          });
    expect(await read('a.docx', nested(2))).toMatchObject({ text: 'Innermost\n\nAround 1\n\nAround 2' });
    expect(await read('a.docx', nested(3))).toMatchObject({
      text: 'Around 1\n\nAround 2\n\nAround 3',
      notices: ['left out: 1 embedded document'],
    });
  });

  it('has the results of fields, not their instructions', async () => {
    const body = `<w:p>${run('Dear ')}<w:fldSimple w:instr=" MERGEFIELD Name ">${run('Ann')}</w:fldSimple>${run(', pay ')}
      ${field('begin')}${instruction(' MERGEFIELD Sum ')}${field('separate')}${run('7')}${field('end')}
      ${field('begin')}${instruction('IF ')}${field('begin')}${instruction('X')}${field('separate')}${run('hidden')}${field('end')}${field('separate')}${run(' now')}${field('end')}</w:p>
      <w:p>${field('begin')}${instruction('HYPERLINK "https://example.com/a"')}${field('separate')}${run('Link')}${field('end')}
      <w:hyperlink r:id="h" w:anchor="top">${run('External')}</w:hyperlink><w:hyperlink r:id="j">${run('Script')}</w:hyperlink></w:p>
      <w:p>${field('begin')}${instruction('DAMAGED')}</w:p>
      <w:p>${field('begin')}${field('separate')}${run('Kept')}${field('end')}</w:p>
      <w:p><w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:checkBox><w:default w:val="0"/><w:checked/></w:checkBox></w:ffData></w:fldChar></w:r>${run('Yes')}
      <w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:ddList><w:result w:val="1"/><w:listEntry w:val="red"/><w:listEntry w:val=" blue"/></w:ddList></w:ffData></w:fldChar></w:r></w:p>`;
    const relations: [string, string, string][] = [
      ['h', 'hyperlink', 'https://example.com/b" TargetMode="External'],
      ['j', 'hyperlink', 'javascript:alert(1)" TargetMode="External'],
    ];
    expect(await wordText(body, relations)).toBe(
      'Dear Ann, pay 7 now\n\n[Link](https://example.com/a)[External](https://example.com/b#top)Script\n\nKept\n\n[x] Yes blue',
    );
  });

  it('has what is inside of elements around runs, and what was inserted, but not what was deleted', async () => {
    const around = ['w:ins', 'w:moveTo', 'w:dir', 'w:bdo', 'w:smartTag', 'w:customXml']
      .map((name) => `<${name}>${run(`${name.slice(2)} `)}</${name}>`)
      .join('');
    const gone = ['w:del', 'w:moveFrom'].map((name) => `<${name}>${run('gone')}</${name}>`).join('');
    expect(
      await wordText(`<w:p>${around}${gone}<w:sdt><w:sdtContent>${run('sdt')}</w:sdtContent></w:sdt></w:p>`),
    ).toBe('ins moveTo dir bdo smartTag customXml sdt');
  });

  it('has the base of ruby text, equations and symbols', async () => {
    const ruby = `<w:r><w:ruby><w:rt>${run('toukyou')}</w:rt><w:rubyBase>${run('東京')}</w:rubyBase></w:ruby></w:r>`;
    const math = (text: string) => `<m:r><m:t>${text}</m:t></m:r>`;
    const equation = `<m:oMath>${math('E=')}<m:f><m:num>${math('a')}</m:num><m:den>${math('b')}</m:den></m:f><m:sSup><m:e>${math('c')}</m:e><m:sup>${math('2')}</m:sup></m:sSup><m:sub/></m:oMath>`;
    const matrix = `<m:m>${[
      ['1', '2'],
      ['3', '4'],
    ]
      .map((cells) => `<m:mr>${cells.map((cell) => `<m:e>${math(cell)}</m:e>`).join('')}</m:mr>`)
      .join('')}</m:m>`;
    const integral = `<m:nary><m:naryPr/><m:sub>${math('0')}</m:sub><m:e><m:d>${math('x')}</m:d></m:e></m:nary>`;
    expect(await wordText(`<w:p><m:oMath>${integral}=${matrix}</m:oMath></w:p>`)).toBe(
      '∫_{0}(x)1 2 \\\\ 3 4 \\\\',
    );
    const symbols =
      '<w:r><w:sym w:font="Wingdings" w:char="F0FE"/><w:noBreakHyphen/><w:sym w:font="Nobody" w:char="F041"/></w:r>';
    expect(await wordText(`<w:p>${ruby}${run(' ')}${equation}${run(' ')}${symbols}</w:p>`)).toBe(
      '東京 E=\\frac{a}{b}c^{2} 🗹-A',
    );
  });

  it('has each text box once', async () => {
    const content = (text: string) => `<w:txbxContent>${paragraph(text)}</w:txbxContent>`;
    const drawing = (text: string) => `<w:drawing><a:graphic>${content(text)}</a:graphic></w:drawing>`;
    const vml = (text: string) =>
      `<w:pict><v:shape><v:textbox>${content(text)}</v:textbox></v:shape></w:pict>`;
    const either = (choice: string, fallback: string) =>
      `<mc:AlternateContent><mc:Choice Requires="wps">${choice}</mc:Choice><mc:Fallback>${fallback}</mc:Fallback></mc:AlternateContent>`;
    const boxes = [
      drawing('DrawingML'),
      vml('VML'),
      either(drawing('Both'), vml('Both')),
      either('<w:drawing/>', vml('Older')),
      either(either('', vml('Inner')), vml('Inner')),
      '<w:pict><v:textpath string="DRAFT"/></w:pict>',
    ];
    expect(
      await wordText(`<w:p>${run('Around')}${boxes.map((box) => `<w:r>${box}</w:r>`).join('')}</w:p>`),
    ).toBe('AroundDRAFT\n\nDrawingML\n\nVML\n\nBoth\n\nOlder\n\nInner');
  });

  it('has headers, footers, notes and comments, marked as such', async () => {
    const references =
      '<w:r><w:footnoteReference w:id="2"/></w:r><w:r><w:endnoteReference w:id="2"/></w:r><w:r><w:commentReference w:id="0"/></w:r>';
    const relations = ['header', 'footer', 'footnotes', 'endnotes', 'comments'].map(
      (type): [string, string, string] => [type, type, `${type}.xml`],
    );
    const text = await wordText(
      `<w:p>${run('Body')}${references}</w:p>`,
      [...relations, ['h2', 'header', 'h2.xml']],
      {
        'word/header.xml': part('w:hdr', paragraph('Contract 4711')),
        'word/h2.xml': part('w:hdr', paragraph('Contract 4711')),
        'word/footer.xml': part('w:ftr', paragraph('Confidential')),
        'word/footnotes.xml': part(
          'w:footnotes',
          `<w:footnote w:type="separator" w:id="0">${paragraph('line')}</w:footnote><w:footnote w:id="2">${paragraph('At the foot')}</w:footnote>`,
        ),
        'word/endnotes.xml': part('w:endnotes', `<w:endnote w:id="2">${paragraph('At the end')}</w:endnote>`),
        'word/comments.xml': part(
          'w:comments',
          `<w:comment w:id="0" w:author="Ann">${paragraph('Really?')}</w:comment><w:comment w:id="1">${paragraph('Lost')}</w:comment>`,
        ),
      },
    );
    expect(text).toBe(
      'Header: Contract 4711\n\nBody[^1][^2][comment 1]\n\nFooter: Confidential\n\n[^1]: At the foot\n\n[^2]: At the end\n\n[comment 1 by Ann]: Really?\n\n[comment]: Lost',
    );
  });

  it('has headings and the labels of lists as Word counts them', async () => {
    const level = (at: number, format: string, text: string, more = '') =>
      `<w:lvl w:ilvl="${at}"><w:start w:val="1"/><w:numFmt w:val="${format}"/><w:lvlText w:val="${text}"/>${more}</w:lvl>`;
    const numbering = part(
      'w:numbering',
      `<w:abstractNum w:abstractNumId="5">${level(0, 'decimal', '§ %1')}${level(1, 'lowerLetter', '%1.%2)', '<w:pStyle w:val="Linked"/>')}${level(2, 'upperRoman', '%3.', '<w:lvlRestart w:val="0"/>')}</w:abstractNum>
       <w:abstractNum w:abstractNumId="6">${level(0, 'bullet', '\uF0B7')}</w:abstractNum>
       <w:num w:numId="1"><w:abstractNumId w:val="5"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="6"/></w:num>
       <w:num w:numId="3"><w:abstractNumId w:val="5"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="9"/></w:lvlOverride></w:num>`,
    );
    const styles = part(
      'w:styles',
      `<w:style w:styleId="berschrift1"><w:name w:val="heading 1"/><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>
       <w:style w:styleId="Linked"><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>
       <w:style w:styleId="Own"><w:basedOn w:val="berschrift1"/></w:style><w:style w:styleId="Loop"><w:basedOn w:val="Loop"/></w:style>`,
    );
    const item = (list: number, at: number, text: string) =>
      `<w:p><w:pPr><w:numPr><w:ilvl w:val="${at}"/><w:numId w:val="${list}"/></w:numPr></w:pPr>${run(text)}</w:p>`;
    const styled = (style: string, text: string) =>
      `<w:p><w:pPr><w:pStyle w:val="${style}"/></w:pPr>${run(text)}</w:p>`;
    const body = `${styled('berschrift1', 'Scope')}${item(1, 1, 'one')}${item(1, 2, 'deep')}${item(1, 1, 'two')}${item(1, 2, 'on')}${styled('Own', 'Terms')}${styled('Linked', 'one')}
      ${item(2, 0, 'bullet')}${item(3, 0, 'nine')}${styled('Loop', 'Plain')}${styled('Heading2', 'By its id')}`;
    const relations: [string, string, string][] = [
      ['n', 'numbering', 'n.xml'],
      ['s', 'styles', 's.xml'],
    ];
    expect(await wordText(body, relations, { 'word/n.xml': numbering, 'word/s.xml': styles })).toBe(
      [
        '# § 1 Scope\n\n  1.a) one\n    I. deep\n  1.b) two\n    II. on',
        '# § 2 Terms\n\n  2.a) one\n- bullet\n§ 9 nine',
        'Plain',
        '## By its id',
      ].join('\n\n'),
    );
  });

  it('has a line for each row of a table, with empty cells and merged ones', async () => {
    const cell = (content: string, properties = '') =>
      `<w:tc><w:tcPr>${properties}</w:tcPr>${content || '<w:p/>'}</w:tc>`;
    const line = (...cells: string[]) => `<w:tr>${cells.join('')}</w:tr>`;
    const inner = `<w:tbl>${line(cell(paragraph('x')), cell(''))}${line(cell(''), cell(paragraph('y')))}</w:tbl>`;
    const table = `<w:tbl>${line(cell(paragraph('Name')), cell(paragraph('Q1')), cell(paragraph('Q2')))}
      ${line(cell(paragraph('Bob')), cell(paragraph('5')), cell(''))}${line(cell(''), cell(''), cell(''))}
      ${line(cell(paragraph('a|b')), cell(`${paragraph('one')}${paragraph('two')}`, '<w:gridSpan w:val="2"/>'))}
      <w:tr><w:trPr><w:del/></w:trPr><w:tc><w:p><w:del>${run('gone')}</w:del></w:p></w:tc></w:tr>
      ${line(cell(`${paragraph('nested')}${inner}<w:p/>`), cell(''), cell(''))}${line(cell(paragraph('last')), cell(''), cell(''))}</w:tbl>`;
    expect(await wordText(`${table}${paragraph('After')}`)).toBe(
      [
        '| Name | Q1 | Q2 |\n| Bob | 5 |  |\n|  |  |  |\n| a\\|b | one / two |  |\n| nested / (table below) |  |  |',
        '| x |  |\n|  | y |',
        '| last |  |  |',
        'After',
      ].join('\n\n'),
    );
  });

  it('has the table in a cell that is outside of a row', async () => {
    const inner = `<w:tbl><w:tr><w:tc>${paragraph('inside')}</w:tc></w:tr></w:tbl>`;
    expect(await wordText(`<w:tc>${paragraph('around')}${inner}</w:tc>`)).toBe(
      'around / (table below)\n\n| inside |',
    );
  });

  it('has the data of its charts', async () => {
    const points = (texts: string[]) =>
      texts.map((text, index) => `<c:pt idx="${index}"><c:v>${text}</c:v></c:pt>`).join('');
    const series = (name: string, values: string[]) =>
      `<c:ser><c:tx><c:strRef><c:f>Sheet1!A1</c:f><c:strCache>${points([name])}</c:strCache></c:strRef></c:tx><c:cat>${points(['Q1', 'Q2'])}</c:cat><c:val>${points(values)}</c:val></c:ser>`;
    const title = (text: string) =>
      `<c:title><c:tx><c:rich><a:p><a:r><a:t>${text}</a:t></a:r></a:p></c:rich></c:tx></c:title>`;
    const chart = `<c:chart>${title('Sales')}${series('North', ['4.4000000000000004', '5'])}${series('South', [' ', '7'])}<c:valAx>${title('Euro')}</c:valAx></c:chart>`;
    const body = `<w:p>${run('See')}<w:r><w:drawing><c:chart r:id="k"/></w:drawing></w:r></w:p>${paragraph('After')}`;
    expect(
      await wordText(body, [['k', 'chart', 'charts/k.xml']], {
        'word/charts/k.xml': part('c:chartSpace', chart),
      }),
    ).toBe('See\n\nChart: Sales\n|  | Q1 | Q2 |\n| North | 4.4 | 5 |\n| South |  | 7 |\nAxis: Euro\n\nAfter');
  });
});

describe('the parts of an office document are found', () => {
  const relation = (type: string, target: string) =>
    `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r" Type="${type}" Target="${target}"/></Relationships>`;
  const main = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument';
  const document = `<w:document ${officeNamespaces}>${paragraph('Found')}</w:document>`;
  const strict = 'http://purl.oclc.org/ooxml';

  it.each<[how: string, parts: Record<string, string | Buffer>]>([
    [
      'in names with backslashes',
      { '_rels\\.rels': relation(main, 'word/document.xml'), 'word\\document.xml': document },
    ],
    [
      'in names that start with a slash',
      { '/_rels/.rels': relation(main, '/word/document.xml'), '/word/document.xml': document },
    ],
    ['in names that start with a dot', { './word/document.xml': document }],
    [
      'by their content type',
      {
        '[Content_Types].xml':
          '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override PartName="/x.xml" ContentType="a.main+xml"/></Types>',
        'x.xml': document,
      },
    ],
    ['in other case', { '_RELS/.rels': relation(main, 'Word/Document.xml'), 'word/DOCUMENT.XML': document }],
    ['by their relationship', { '_rels/.rels': relation(main, 'a%20b/c.bin'), 'a b/c.bin': document }],
    ['without one, by their usual name', { 'word/document.xml': document }],
    [
      'in the strict namespaces',
      {
        '_rels/.rels': relation(`${strict}/officeDocument/relationships/officeDocument`, 'd.xml'),
        'd.xml': document
          .replace(/http:\S+wordprocessingml[^"]+/, `${strict}/wordprocessingml/main`)
          .replaceAll(/(<\/?|xmlns:)w([:=])/g, '$1strict$2'),
      },
    ],
    [
      'with other prefixes',
      {
        'word/document.xml': document
          .replaceAll(/<(\/?)w:/g, '<$1ns0:')
          .replace('xmlns:w=', 'xmlns:ns0=')
          .replace('xmlns:m=', 'xmlns:w='),
      },
    ],
    [
      'with a default namespace',
      {
        'word/document.xml': document
          .replaceAll('<w:', '<')
          .replaceAll('</w:', '</')
          .replace('xmlns:w', 'xmlns'),
      },
    ],
    ['in UTF-16', { 'word/document.xml': Buffer.from(`\uFEFF${document}`, 'utf16le') }],
  ])('%s', async (_how, parts) => {
    expect((await read('a.docx', zip(parts))).text).toBe('Found');
  });

  it('but not in a namespace that is another', async () => {
    const other = document.replace(
      'xmlns:w="',
      'xmlns:w="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:x="',
    );
    await expect(read('a.docx', zip({ 'word/document.xml': other }))).rejects.toMatchObject({
      kind: 'unreadable',
    });
  });
});

describe('a presentation', () => {
  const shape = (text: string) =>
    `<p:sp><p:txBody><a:p><a:r><a:t>${text}</a:t></a:r></a:p></p:txBody></p:sp>`;
  const slide = (content: string) => `<p:sld><p:cSld><p:spTree>${content}</p:spTree></p:cSld></p:sld>`;

  it('has groups, tables, diagrams, charts, links, notes and comments', async () => {
    const cell = (text: string) =>
      `<a:tc><a:txBody><a:p><a:r><a:t>${text}</a:t></a:r></a:p></a:txBody></a:tc>`;
    const frame = (content: string) => `<p:graphicFrame>${content}</p:graphicFrame>`;
    const link =
      '<p:sp><p:txBody><a:p><a:r><a:rPr><a:hlinkClick r:id="web"/></a:rPr><a:t>Link</a:t></a:r></a:p></p:txBody></p:sp>';
    const content = [
      `<p:grpSp><p:grpSp>${shape('Grouped')}</p:grpSp></p:grpSp>`,
      frame(`<a:tbl><a:tr>${cell('a')}${cell('')}</a:tr><a:tr>${cell('')}${cell('b')}</a:tr></a:tbl>`),
      frame('<dgm:relIds r:dm="dm"/>'),
      frame('<c:chart r:id="k"/>'),
      link,
    ].join('');
    const text = await slidesText(
      [slide(content)],
      [
        ['dm', 'diagramData', '../d.xml'],
        ['k', 'chart', '../k.xml'],
        ['web', 'hyperlink', 'https://example.com/" TargetMode="External'],
        ['n', 'notesSlide', '../n.xml'],
        ['c', 'comments', '../c.xml'],
      ],
      {
        'ppt/d.xml': part(
          'dgm:dataModel',
          '<dgm:pt><dgm:t><a:p><a:r><a:t>Node</a:t></a:r></a:p></dgm:t></dgm:pt>',
        ),
        'ppt/k.xml': part('c:chartSpace', '<c:ser><c:val><c:pt idx="0"><c:v>7</c:v></c:pt></c:val></c:ser>'),
        'ppt/n.xml': part('p:notes', shape('Say it slowly')),
        'ppt/c.xml': part('p:cmLst', '<p:cm authorId="1"><p:text>Too long</p:text></p:cm>'),
        'ppt/authors.xml': part('p:cmAuthorLst', '<p:cmAuthor id="1" name="Ann"/>'),
      },
    );
    expect(text).toBe(
      [
        'Grouped',
        '| a |  |\n|  | b |',
        'Node',
        '|  | 7 |',
        '[Link](https://example.com/)',
        'Say it slowly',
        '[comment by Ann]: Too long',
      ].join('\n\n'),
    );
  });

  it('has the texts of its layouts and masters once, without their placeholders', async () => {
    const placeholder = shape('Click to edit').replace('<p:txBody>', '<p:nvPr><p:ph/></p:nvPr><p:txBody>');
    const text = await slidesText(
      [slide(shape('One')), slide(shape('Two'))],
      [['l', 'slideLayout', '../l.xml']],
      { 'ppt/l.xml': part('p:sldLayout', `${placeholder}${shape('Confidential')}<p:pic/>`) },
    );
    expect(text).toBe('One\n\n[background]: Confidential\n\nTwo');
  });

  it('has one of two alternatives', async () => {
    const either = `<mc:AlternateContent><mc:Choice Requires="p14">${shape('Once')}</mc:Choice><mc:Fallback>${shape('Once')}</mc:Fallback></mc:AlternateContent>`;
    expect(await slidesText([slide(either)])).toBe('Once');
  });

  it('has no hidden slides, and says so', async () => {
    const hidden = slide(`${shape('Secret')}<p:pic/>`).replace('<p:sld>', '<p:sld show="0">');
    const { text, pageOffsets, notices } = await read(
      'a.pptx',
      slidesWith([slide(shape('One')), hidden, slide(shape('Three'))]),
    );
    expect(text).not.toContain('Secret');
    expect(text.slice(pageOffsets[2])).toBe('Three\n\n');
    expect(notices).toEqual(['1 hidden slide is left out']);
    expect((await read('a.pptx', slidesWith([slide(shape('One')), hidden, hidden]))).notices).toEqual([
      '2 hidden slides are left out',
    ]);
  });

  it('says what else is left out', async () => {
    const picture = (inside: string) => `<p:pic><p:nvPicPr>${inside}</p:nvPicPr></p:pic>`;
    const described = '<p:cNvPr descr="A ferry"/>';
    const embedded = (program: string) =>
      `<mc:AlternateContent><mc:Choice><p:oleObj progId="${program}"/></mc:Choice><mc:Fallback><p:oleObj progId="${program}">${picture('')}</p:oleObj></mc:Fallback></mc:AlternateContent>`;
    const { text, notices } = await read(
      'a.pptx',
      slidesWith([
        slide(
          [
            ...[described, '', '<a:videoFile/>', '<a:audioFile/>'].map(picture),
            ...['Excel.Sheet.12', 'Word.Document.12', 'PowerPoint.Show.12', 'Equation.3', 'Acrobat'].map(
              embedded,
            ),
            '<c:chart r:id="gone"/>',
            '<mc:AlternateContent><mc:Choice><p:contentPart/></mc:Choice><mc:Fallback><p:pic/></mc:Fallback></mc:AlternateContent>',
          ].join(''),
        ),
      ]),
    );
    expect(text.trim()).toBe('[picture: A ferry]');
    expect(notices).toEqual([
      'left out: 2 pictures, 1 video, 1 audio clip, 1 embedded sheet, 1 embedded document, 1 embedded presentation',
      'left out: 1 embedded equation, 1 embedded object, 1 chart without data, 1 ink drawing',
    ]);
  });
});

describe('a hostile office document', () => {
  it('cannot declare fewer bytes than it has for parts that are not compressed', async () => {
    const bytes = zipSync({ '000.rels': new Uint8Array(bounds.partsBytes / 100) }, { level: 0 });
    const directory = Buffer.from(bytes.slice(-22)).readUInt32LE(16);
    const entry = Buffer.from(bytes.slice(directory, -22));
    entry.writeUInt32LE(1, 24);
    const entries = Array.from({ length: 101 }, (_, index) => {
      entry.write(String(index).padStart(3, '0'), 46);
      return Buffer.from(entry);
    });
    const end = Buffer.from(bytes.slice(-22));
    end.writeUInt16LE(entries.length, 10);
    end.writeUInt16LE(entries.length, 8);
    const archive = Buffer.concat([bytes.slice(0, directory), ...entries, end]);
    await expect(read('a.docx', archive)).rejects.toMatchObject({ kind: 'tooLarge' });
  });

  it('is nested to the limit, and not beyond', async () => {
    // Two levels are the document and its body; two are the run and its text.
    const nested = (levels: number) =>
      wordBody(`${'<w:p>'.repeat(levels - 4)}${run('Deep')}${'</w:p>'.repeat(levels - 4)}`);
    expect((await read('a.docx', nested(bounds.depth))).text).toBe('Deep');
    await expect(read('a.docx', nested(bounds.depth + 1))).rejects.toMatchObject({ kind: 'tooLarge' });
  });

  it('with tables and boxes in each other is read in linear time', async () => {
    const levels = 1000;
    const long = paragraph('word '.repeat(200_000));
    const tables = `${'<w:tbl><w:tr><w:tc>'.repeat(levels)}${long}${'</w:tc></w:tr></w:tbl>'.repeat(levels)}`;
    expect((await wordText(tables)).length).toBeGreaterThan(1_000_000);
    const boxes = `${'<w:p><w:txbxContent>'.repeat(levels)}${long}${'</w:txbxContent></w:p>'.repeat(levels)}`;
    expect(await wordText(boxes)).toHaveLength(999_999);
  });

  it('of parts that refer to each other is read once', async () => {
    const chart = part('c:chartSpace', '<c:userShapes r:id="u"/><a:p><a:r><a:t>Once</a:t></a:r></a:p>');
    const relations = (target: string) =>
      `<Relationships><Relationship Id="u" Type="chartUserShapes" Target="${target}"/></Relationships>`;
    const text = await wordText('<w:p><c:chart r:id="k"/></w:p>', [['k', 'chart', 'k.xml']], {
      'word/k.xml': chart,
      'word/_rels/k.xml.rels': relations('k.xml'),
    });
    expect(text).toBe('Once');
  });

  it('cannot have a part read again and again, also by documents in it', async () => {
    const many = '<w:r><c:chart r:id="k"/></w:r>'.repeat(26);
    const part = `<c:chartSpace><!--${' '.repeat(2 * 1024 * 1024)}--></c:chartSpace>`;
    const inner = wordBody(`<w:p>${many}</w:p>`, [['k', 'chart', 'k.xml']], { 'word/k.xml': part });
    const twice = wordBody(
      '<w:altChunk r:id="a"/>',
      ['a', 'b'].map((id): [string, string, string] => [id, 'aFChunk', `${id}.docx`]),
      { 'word/a.docx': inner, 'word/b.docx': inner },
    );
    expect((await read('a.docx', inner).catch((error) => error)).kind).toBe('empty');
    await expect(read('a.docx', twice)).rejects.toMatchObject({ kind: 'tooLarge' });
  });

  it.each([
    ['is cut off', '<w:document><w:p>'],
    ['closes what is not open', '<w:document></w:p></w:document>'],
  ])('whose XML %s is unreadable', async (_how, xml) => {
    await expect(read('a.docx', zip({ 'word/document.xml': xml }))).rejects.toMatchObject({
      kind: 'unreadable',
    });
  });
});
