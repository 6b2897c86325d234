import fc from 'fast-check';

interface HostileForm {
  what: string;
  contentType: string | undefined;
  body: Buffer;
}

interface Part {
  headers: string[];
  content: Buffer;
}

const file: Part = {
  headers: ['Content-Disposition: form-data; name="file"; filename="a.txt"', 'Content-Type: text/plain'],
  content: Buffer.from('content'),
};
const data = (text: string): Part => ({
  headers: ['Content-Disposition: form-data; name="data"'],
  content: Buffer.from(text),
});

const written = (boundary: string, parts: readonly Part[], end = `--${boundary}--\r\n`): Buffer =>
  Buffer.concat([
    ...parts.flatMap(({ headers, content }) => [
      Buffer.from(`--${boundary}\r\n${headers.map((header) => `${header}\r\n`).join('')}\r\n`, 'latin1'),
      content,
      Buffer.from('\r\n'),
    ]),
    Buffer.from(end, 'latin1'),
  ]);

const boundary = 'a-boundary';
const usual = `multipart/form-data; boundary=${boundary}`;

const fileWith = (headers: string[], content: Buffer = file.content): Part => ({ headers, content });
const named = (disposition: string): Part =>
  fileWith([`Content-Disposition: ${disposition}`, 'Content-Type: text/plain']);
const typed = (type: string, content?: Buffer): Part =>
  fileWith(
    ['Content-Disposition: form-data; name="file"; filename="a.txt"', `Content-Type: ${type}`],
    content,
  );

const names: readonly string[] = [
  '',
  ' ',
  '.',
  '..',
  '.txt',
  'a',
  'a.',
  'a.TXT',
  'a.txt.exe',
  'a.exe',
  'a.txt\0.exe',
  'a.txt ',
  '../../a.txt',
  'C:\\a.txt',
  '/etc/passwd.txt',
  '\xc3\xa9.txt',
  '\xff.txt',
  '%00.txt',
  '%2e%2e.txt',
  '__proto__',
  'constructor.txt',
  'a.constructor',
  'a.__proto__',
  'a\\".txt',
  '\u0001.txt',
  'con.txt',
  '<b>.txt',
  `${'x'.repeat(251)}.txt`,
  `${'x'.repeat(252)}.txt`,
  `${'\xf0\x9f\x98\x80'.repeat(251)}.txt`,
  `${'x'.repeat(5000)}.txt`,
  `a.${'x'.repeat(250)}`,
];
const dispositions: readonly string[] = [
  '',
  'form-data',
  'form-data; name',
  'form-data; name=',
  'form-data; name=file',
  'form-data; name=""; filename="a.txt"',
  'attachment; name="file"; filename="a.txt"',
  'form-data; name="file"',
  'form-data; filename="a.txt"',
  ';;;',
  '\xff',
  'form-data; name="file"; name="data"; filename="a.txt"',
  'form-data; name="file"; filename=a.txt; filename=b.txt',
  'form-data; name="file; filename="a.txt"',
  'form-data; name="file"; filename="a.txt',
  'form-data; NAME="file"; FILENAME="a.txt"',
  'form-data; name="file"; filename*=UTF-8\'\'%e2%82%ac.txt',
  'form-data; name="file"; filename*=UTF-8\'\'%zz.txt',
  'form-data; name="file"; filename*=utf-16\'\'a.txt',
  'form-data; name="file"; filename*=\'',
  'form-data; name="file"; filename*0="a"; filename*1=".txt"',
  'form-data; name="__proto__"; filename="a.txt"',
  'form-data; name="constructor"',
  'form-data; name="file"; __proto__=x; filename="a.txt"',
];
const types: readonly string[] = [
  '',
  ' ',
  'text',
  'text/',
  '/plain',
  'text/*',
  '*/*',
  'text/plain; charset=utf-16',
  'text/plain; charset="',
  'TEXT/PLAIN',
  'text/plain, text/html',
  'application/pdf',
  'image/png',
  'application/zip',
  'application/octet-stream',
  'text/\xff',
  'text/plain\tx',
  `text/${'x'.repeat(300)}`,
  'multipart/mixed; boundary=b',
  'application/x-msdownload',
  'text/__proto__',
  'null',
];
const datas: readonly string[] = [
  '',
  'null',
  '1',
  '"x"',
  '[]',
  '{}',
  '{',
  'undefined',
  '{"scope":null}',
  '{"scope":1}',
  '{"scope":"persistent"}',
  '{"scope":"ephemeral"}',
  '{"scope":"PERSISTENT"}',
  '{"scope":"forever"}',
  '{"scope":["persistent"]}',
  '\ufeff{}',
  '{}x',
  '{"__proto__":{"scope":"ephemeral"}}',
  '{"scope":"persistent","scope":"x"}',
  '{"scope":"\\ud800"}',
  '\0',
  '1e309',
];

const sent = (what: string, body: Buffer, contentType: string | undefined = usual): HostileForm => ({
  what,
  contentType,
  body,
});
const one = (what: string, ...parts: Part[]): HostileForm => sent(what, written(boundary, parts));
const plain = written(boundary, [file]);
const kilobytes = (count: number, byte = 'x') => Buffer.alloc(count * 1024, byte);

const forms: readonly HostileForm[] = [
  one('a plain file', file),
  ...names.map((name) =>
    one(`name ${name.slice(0, 40)}`, named(`form-data; name="file"; filename="${name}"`)),
  ),
  ...dispositions.map((disposition) => one(`disposition ${disposition.slice(0, 60)}`, named(disposition))),
  ...types.map((type) => one(`type ${type.slice(0, 40)}`, typed(type))),
  ...datas.map((text) => one(`data ${text.slice(0, 40)}`, file, data(text))),
  ...datas.map((text) => one(`data ${text.slice(0, 40)} in front`, data(text), file)),
  one('no part'),
  one('data alone', data('{}')),
  one('two files', file, file),
  one('two datas', file, data('{}'), data('{}')),
  one('an empty file', fileWith(file.headers, Buffer.alloc(0))),
  one('no headers', fileWith([])),
  one('headers that are none', fileWith(['nothing', ': x', 'Content-Disposition', '\0: \0'])),
  one('a folded header', fileWith(['Content-Disposition: form-data;\r\n name="file";\r\n filename="a.txt"'])),
  one('two dispositions', fileWith([...file.headers, 'Content-Disposition: form-data; name="data"'])),
  one('headers of 15 KB', fileWith([...file.headers, `x-long: ${'x'.repeat(15_000)}`])),
  one('headers of 40 KB', fileWith([...file.headers, `x-long: ${'x'.repeat(40_000)}`])),
  one(
    '100 headers',
    fileWith([...Array.from({ length: 100 }, (_, index) => `x-${index}: y`), ...file.headers]),
  ),
  one(
    'a coding',
    fileWith([...file.headers, 'Content-Transfer-Encoding: base64'], Buffer.from('Y29udGVudA==')),
  ),
  one(
    '300 unknown parts',
    ...Array.from({ length: 300 }, (_, index) => named(`form-data; name="f${index}"`)),
    file,
  ),
  one('data of 70 KB', file, data(`{"x":"${'x'.repeat(70_000)}"}`)),
  one('data that is deep', file, data(`${'['.repeat(30_000)}${']'.repeat(30_000)}`)),
  one('a NUL at its end', fileWith(file.headers, Buffer.concat([kilobytes(5), Buffer.alloc(1)]))),
  one('binary called text', fileWith(file.headers, Buffer.from([0, 1, 2, 3, 255]))),
  one('text called PDF', typed('application/pdf', Buffer.from('%PDX'))),
  one('what begins as PDF', typed('application/pdf', Buffer.from('%PDF-1.7\n'))),
  one('an archive called text', fileWith(file.headers, Buffer.from('PK\x03\x04rest', 'latin1'))),
  one(
    'its own boundary inside',
    fileWith(file.headers, Buffer.from(`x\r\n--${boundary}x\r\n--${boundary} \r\ny`)),
  ),
  one('an end and more', file, fileWith(file.headers, Buffer.from(`x\r\n--${boundary}--\r\nmore`))),
  { ...one('no Content-Type', file), contentType: undefined },
  ...[
    '',
    'multipart/form-data',
    'multipart/form-data; boundary=',
    'multipart/form-data; boundary=""',
    'multipart/mixed; boundary=a-boundary',
    'multipart/form-data; boundary=other',
    'multipart/form-data; boundary="a-boundary"',
    'MULTIPART/FORM-DATA; BOUNDARY=a-boundary',
    'multipart/form-data; boundary=\xff',
    'multipart/form-data; charset=x; boundary=a-boundary; boundary=b',
    'application/json',
    '\xff\xfe',
  ].map((contentType) => sent(`as ${contentType}`, plain, contentType)),
  sent(
    'a boundary of 1,000',
    written('b'.repeat(1000), [file]),
    `multipart/form-data; boundary=${'b'.repeat(1000)}`,
  ),
  sent('a boundary of dashes', written('--', [file]), 'multipart/form-data; boundary=--'),
  sent('no last boundary', written(boundary, [file], '')),
  sent('half a last boundary', written(boundary, [file], `--${boundary}`)),
  sent('cut in its headers', plain.subarray(0, 40)),
  sent('cut in its content', plain.subarray(0, 120)),
  sent('line feeds alone', Buffer.from(plain.toString('latin1').replaceAll('\r\n', '\n'))),
  sent('something in front', Buffer.concat([Buffer.from('in front\r\n'), plain])),
  sent('something behind', Buffer.concat([plain, Buffer.from('behind')])),
  sent('nothing', Buffer.alloc(0)),
  sent('bytes', Buffer.from(Array.from({ length: 3000 }, (_, index) => (index * 131) % 256))),
  sent('boundaries alone', Buffer.from(`--${boundary}\r\n`.repeat(2000))),
  sent('JSON', Buffer.from('{"file":"x"}')),
];

/** Forms as a browser sends them, and bodies that only resemble a form. */
export const hostileForm = (): fc.Arbitrary<HostileForm> => fc.constantFrom(...forms);
