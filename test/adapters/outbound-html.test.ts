import { describe, expect, it } from 'vitest';
import { pageText } from '#adapters/outbound/page-text.ts';

// On an idle machine no test takes more than 1 s.

const address = 'https://site.test/docs/page';
const read = (body: string | Uint8Array, header?: string) =>
  pageText({ header, body: typeof body === 'string' ? Buffer.from(body) : body, address });
const textOf = async (html: string) => (await read(html, 'text/html')).text;

describe('an HTML page', () => {
  it('is read as people see it, with headings, lists, links and tables', async () => {
    const { title, text, contentType } = await read(
      `<!doctype html><html><head><title>A &amp; B
        page</title><style>p { color: red }</style><script>alert("<p>no</p>")</script></head>
      <body><h1>Heading</h1><p>One <b>bold</b>word &lt;here&gt;,
        <a href="../other?a=1#part">a <i>link</i></a>.</p><p>Two<br>lines</p>
      <ul><li>first<li><p>second</p></ul>
      <table><tr><th>Name<th>Age</tr><tr><td>Ada</td><td>36</td></tr></table>
      <pre>  kept
    as it is</pre>
      <img src="x.png" alt="A picture"><svg><title>no</title><text>no</text></svg><!-- no -->
      <a href="#top">up</a> <a href="javascript:alert(1)">do</a> <template><p>no</p></template></body></html>`,
      'text/html; charset=utf-8',
    );
    expect(title).toBe('A & B page');
    expect(contentType).toBe('text/html');
    expect(text).toBe(
      [
        '# Heading',
        'One boldword <here>, [a link](https://site.test/other?a=1#part).',
        'Two\nlines',
        '- first',
        '- second',
        'Name | Age\nAda | 36',
        '  kept\n    as it is',
        'A picture up do',
      ].join('\n\n'),
    );
  });

  it('is its main part where it has one that says something', async () => {
    const words = 'What the page is about. '.repeat(10).trim();
    expect(await textOf(`<nav>Menu</nav><main><p>${words}</p></main><footer>Foot</footer>`)).toBe(words);
    expect(await textOf('<nav>Menu</nav><main>Loading</main><footer>Foot</footer>')).toBe(
      'Menu\n\nLoading\n\nFoot',
    );
  });

  it('has links against its base address', async () => {
    expect(await textOf('<base href="/a/"><base href="/b/"><a href="c">d</a>')).toBe(
      '[d](https://site.test/a/c)',
    );
  });

  it.each([
    ['<a href="x', ''],
    ['a < b & c &copy; &nope; &#x41;', 'a < b & c © &nope; A'],
    ['<script>never closed <p>text</p>', ''],
    ['<template><template/>no</template>no</template>yes', 'yes'],
    ['<a href="a"><a href="b">two</a></a>', '[two](https://site.test/docs/b)'],
    ['<title>one</title><title>two</title>', 'two'],
    ['', ''],
  ])('that breaks the rules is read all the same: %s', async (html, text) => {
    expect(await textOf(html)).toBe(text);
  });

  const repeated = (text: string, length = 5_000_000) => text.repeat(Math.ceil(length / text.length));

  it.each([
    ['nested elements', repeated('<div>')],
    ['nested formatting', repeated('<b><i>')],
    ['nested lists', repeated('<ul><li>')],
    ['nested tables', repeated('<table><tr><td>')],
    ['nested links', repeated('<a href=x>')],
    ['nested ends', repeated('<div>', 2_500_000) + repeated('</p>', 2_500_000)],
    ['unclosed quotes', repeated('<a href="')],
    ['an unclosed attribute', `<a href="${repeated('x')}`],
    ['attributes', `<a ${repeated('a=1 ')}>`],
    ['brackets', repeated('<')],
    ['comments that do not end', repeated('<!--')],
    ['entities', repeated('&amp;&#')],
    ['base addresses', repeated(`<base href="${'a/'.repeat(500)}">`)],
    ['links of a long base', `<base href="${'a/'.repeat(900)}">${repeated('<a href=b>c</a>')}`],
    ['links of names in other scripts', repeated('<a href="http://ü一.de">x</a>')],
    ['spaces', repeated(' ')],
    ['a title', `<title>${repeated('x ')}`],
  ])('of 5 MB of %s takes neither stack nor much time', async (_what, html) => {
    const before = process.cpuUsage();
    const { text } = await read(html, 'text/html');
    const { user, system } = process.cpuUsage(before);
    // A tenth of this limit is usual. Quadratic algorithms take minutes.
    expect((user + system) / 1e6).toBeLessThan(5);
    expect(text.length).toBeLessThan(20_000_000);
  });
});

const latin = (text: string) => Buffer.from(text, 'latin1');
it.each<[what: string, body: Buffer, header: string, text?: string]>([
  ['of the header, against the page', latin('<meta charset=utf-8>é'), 'text/html; charset="windows-1252"'],
  ['of the page', latin('<meta charset="iso-8859-1">é'), 'text/html'],
  ['of the byte order mark, against the header', Buffer.from('\ufeffé'), 'text/plain; charset=iso-8859-1'],
  [
    'of an XML declaration',
    latin('<?xml version="1.0" encoding="ISO-8859-1"?><a>é</a>'),
    'application/atom+xml',
    '<?xml version="1.0" encoding="ISO-8859-1"?><a>é</a>',
  ],
  ['that nobody names and is UTF-8', Buffer.from('é'), 'text/plain'],
  ['that nobody names and is not', latin('é'), 'text/plain'],
  ['that is not what the header says', latin('é!'), 'text/plain; charset=utf-8', '\ufffd!'],
  ['that no decoder knows', latin('a'), 'text/plain; charset=x-user-defined', 'a'],
])('an encoding %s', async (_what, body, header, text = 'é') => {
  expect((await read(body, header)).text).toBe(text);
});

it('an encoding that browsers refuse is refused', async () => {
  await expect(read('a', 'text/plain; charset=iso-2022-kr')).rejects.toThrow('Its encoding cannot be read');
});

describe('a type', () => {
  it.each([
    'text/csv; header=present',
    'application/ld+json',
    'TEXT/Markdown',
    'application/rss+xml;charset=utf-8',
    'text/plain; charset',
  ])('%s is text as it stands', async (header) => {
    const { text, contentType, title } = await read('<a> {"b": 1}', header);
    expect({ text, contentType, title }).toEqual({
      text: '<a> {"b": 1}',
      contentType: header.split(';')[0]?.toLowerCase(),
      title: '',
    });
  });

  it.each(['application/pdf', 'nonsense', ''])('%j is none', async (header) => {
    await expect(read('<p>Text</p>', header)).rejects.toThrow(/It is of .*type/);
  });

  it('that is not told is guessed', async () => {
    expect(await read('<!DOCTYPE html><p>Text')).toMatchObject({ text: 'Text', contentType: 'text/html' });
    expect(await read('Text <p>')).toMatchObject({ text: 'Text <p>', contentType: 'text/plain' });
    await expect(read(Buffer.from([1, 0, 2]))).rejects.toThrow('application/octet-stream');
  });
});
