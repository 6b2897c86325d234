import { describe, expect, it } from 'vitest';
import type { UploadedFile } from '#contract/message.ts';
import { fileBucketOf } from '#support/file-bucket.ts';
import { docx, pdf, presentation } from '#support/office-documents.ts';
import { openTenant, summaryOf } from '#support/open-tenant.ts';
import { gif, jpeg, png, webp, zip } from '#support/sample-files.ts';
import { boundary, dataPart, filePart, form, part, uploaderOf } from '#support/upload.ts';
import { useService } from '#support/use-service.ts';
import { wordDocument } from '#support/word-document.ts';

const service = await useService();
const tenant = await openTenant(service);

const office = 'application/vnd.openxmlformats-officedocument';
const wordType = `${office}.wordprocessingml.document`;
const slidesType = `${office}.presentationml.presentation`;

const accepted: [name: string, type: string, content: string | Buffer][] = [
  ['report.pdf', 'application/pdf', pdf('A report')],
  ['notes.txt', 'text/plain', 'Notes'],
  ['notes.md', 'text/markdown', '# Notes'],
  ['table.csv', 'text/csv', 'a,b\n1,2\n'],
  ['page.html', 'text/html', '<p>Page</p>'],
  ['letter.docx', wordType, docx('A letter')],
  ['letter.doc', 'application/msword', wordDocument('A letter')],
  ['slides.pptx', slidesType, presentation([['Slides']])],
  ['photo.jpg', 'image/jpeg', jpeg],
  ['photo.jpeg', 'image/jpeg', jpeg],
  ['drawing.png', 'image/png', png],
  ['moving.gif', 'image/gif', gif],
  ['photo.webp', 'image/webp', webp],
  ['SHOUTED.PDF', 'Application/PDF', pdf('Shouted')],
  ['old.txt', 'text/plain; charset=iso-8859-1', Buffer.from('Gr\xfc\xdfe', 'latin1')],
  ['marked.txt', 'text/x-anything', 'Marked'],
  ['wide.txt', 'text/plain; charset=utf-16', Buffer.from('\ufeffWide', 'utf16le')],
  ['unmarked.csv', 'text/csv', Buffer.from('Ann,Oslo\n', 'utf16le')],
  ['junk.pdf', 'application/pdf', Buffer.concat([Buffer.alloc(1024, '\n'), pdf('After junk')])],
  ['business.txt', 'text/plain', 'BM, GIF, ID3 and MZ are words here'],
];

const extensions =
  'These extensions are allowed: .pdf, .txt, .md, .csv, .docx, .doc, .pptx, .jpeg, .jpg, .png, .gif, .webp, .html';
const program = Buffer.from('7f454c46020101000000', 'hex');
const wide = Buffer.from([65, 0, 0, 66]);
const junk = Buffer.concat([Buffer.alloc(1025, '\n'), pdf('x')]);
const unknownType = 'application/octet-stream';
const emptyFile = 'File is empty (size must be greater than 0 bytes)';
const unsupported = (extension: string) => `Unsupported file extension: ${extension}`;

type Rejected = [
  what: string,
  message: string,
  name: string,
  content: string | Buffer,
  type: string,
  hint?: string,
];
const wrongNames: Rejected[] = [
  ['a file without a name', 'File name is missing', '', 'x', 'application/zip'],
  ['an extension that is not taken', unsupported('.exe'), 'run.EXE', 'x', 'application/zip', extensions],
  ['a name without an extension', unsupported(''), 'README', 'x', 'text/plain', extensions],
  ['a name that is an extension', unsupported(''), '.pdf', 'x', 'text/plain', extensions],
  ['an empty file', emptyFile, 'a.txt', '', 'text/plain'],
];

/** Types that are not taken: as given, as the message has it, and as the hint has that of the extension. */
const wrongTypes = (
  [
    ['a type that is not taken', 'a.pdf', '', 'application/zip', '.pdf', 'application/pdf'],
    ['what curl and Go send', 'Letter.DOCX', docx('x'), unknownType, '.docx', wordType],
    ['every text at once', 'a.txt', 'x', 'text/*', '.txt', 'text/plain'],
    ['half a type', 'a.txt', 'x', 'text/', '.txt', 'text/plain'],
    ['a type with what no header holds', 'a.txt', 'x', 'text/plain; x=ü', '.txt', 'text/plain'],
    ['what is no type', 'a.pdf', pdf('x'), 'pdf', '.pdf', 'application/pdf'],
    ['a drawing', 'a.png', '<svg/>', 'image/svg+xml; charset=utf-8', '.png', 'image/png'],
  ] as const
).map(([what, name, content, type, extension, right]): Rejected => {
  const shown = type.replace('; charset=utf-8', '');
  const hint = `The file name ends with ${extension}: send the content type ${right}`;
  return [what, `Unsupported content type: ${shown}`, name, content, type, hint];
});

/** Content that is not of its type: the type that is found, and the declared one. */
const wrongContents = (
  [
    ['an image as a document', 'a.pdf', png, 'image/png', 'application/pdf'],
    ['text as a document', 'a.pdf', 'Hello', 'text/plain', 'application/pdf'],
    ['text as an image', 'a.png', 'Hello', 'text/plain', 'image/png'],
    ['a document as text', 'a.txt', pdf('x'), 'application/pdf', 'text/plain; charset=utf-8'],
    ['an archive as text', 'a.csv', zip({ a: 'b' }), 'application/zip', 'text/csv'],
    ['a program as text', 'a.html', program, 'application/x-executable', 'text/html'],
    ['unknown bytes as text', 'a.txt', Buffer.from([65, 0, 66]), unknownType, 'text/plain'],
    ['an old document as a new one', 'a.docx', wordDocument('A letter'), 'application/msword', wordType],
    ['wide text with zero bytes on both sides', 'a.txt', wide, unknownType, 'text/plain'],
    ['a document after too much junk', 'a.pdf', junk, 'text/plain', 'application/pdf'],
  ] as const
).map(([what, name, content, found, type]): Rejected => {
  const hint = `The content looks like ${found}, and the content type is ${type.replace('; charset=utf-8', '')}`;
  return [what, `Unsupported content type: ${found}`, name, content, type, hint];
});

const pngAsJpeg: Rejected = [
  'a PNG named JPEG by its type alone',
  'Unsupported content type: image/png',
  'a.PNG',
  png,
  'image/jpeg',
  'The content looks like image/png, and the file name ends with .png: send the content type image/png',
];
const rejected = [...wrongNames, ...wrongTypes, ...wrongContents, pngAsJpeg];

/** The file in the response to an upload without a file. */
const nothing = { original_name: '', content_type: '', size: 0 };

const inChunks = (whole: Buffer): ReadableStream<Uint8Array> =>
  new ReadableStream({
    start(controller) {
      const size = Math.max(7, Math.ceil(whole.length / 1000));
      for (let at = 0; at < whole.length; at += size) controller.enqueue(whole.subarray(at, at + size));
      controller.close();
    },
  });

describe('what is uploaded', () => {
  const upload = uploaderOf(service, tenant);

  it.each(accepted)('takes %s as %s', async (name, type, content) => {
    const { status, body } = await upload.raw(form(filePart(name, content, type)));
    const file = body.data as UploadedFile;
    expect({ status, file }).toEqual({
      status: 200,
      file: {
        uuid: expect.any(String),
        original_name: name,
        content_type: type,
        size: Buffer.byteLength(content),
        file_url: expect.stringMatching(/^http/),
        scope: 'persistent',
      },
    });
    const download = await fetch(file.file_url);
    expect(download.status).toBe(200);
    expect(Buffer.from(await download.arrayBuffer())).toEqual(Buffer.from(content));
    expect(download.headers.get('content-disposition')).toMatch(/^attachment; filename=/);
  });

  it.each(rejected)('refuses %s: %s', async (_what, message, name, content, type, hint) => {
    const { status, body } = await upload.raw(form(filePart(name, content, type)));
    const data = {
      ...{ original_name: name, content_type: type, size: Buffer.byteLength(content) },
      ...{ scope: 'persistent', error_msg: message, ...(hint !== undefined && { hint }) },
    };
    expect({ status, body }).toEqual({ status: 400, body: { data, message, error_code: 10006 } });
  });

  describe('names', () => {
    it.each([
      'Jahresbericht größer 2026.pdf',
      '四半期報告書.pdf',
      'تقرير.pdf',
      'с пробелом и ёмкостью.pdf',
      '👩‍🚀 launch.pdf',
      `${'🚀'.repeat(251)}.pdf`,
      'a;b="c"&d=%20.pdf',
      '../../etc/passwd.pdf',
      "l'été\\x.pdf",
    ])('keeps %s as it is given, and downloads under it', async (name) => {
      const { body } = await upload.file(name, pdf('x'), { type: 'application/pdf' });
      const file = body.data as UploadedFile;
      expect(file.original_name).toBe(name);
      expect(new URL(file.file_url).pathname).not.toContain('..');
      const disposition = (await fetch(file.file_url)).headers.get('content-disposition') ?? '';
      expect(disposition).toMatch(/^attachment; filename=[\x20-\x7e]+$/);
      expect(disposition).not.toContain('/..');
    });

    it.each([
      [`form-data; name="file"; filename*=UTF-8''%e2%82%ac%20rates.txt`, '€ rates.txt'],
      [`form-data; name="file"; filename="plain.txt"; filename*=UTF-8''%c3%bcber.txt`, 'über.txt'],
      ['form-data; name=file; filename=bare.txt', 'bare.txt'],
      ['form-data; filename="first.txt"; name="file"', 'first.txt'],
      // As Go writes it, and with a last backslash before the dot; urllib3; a browser.
      [String.raw`form-data; name="file"; filename="a \"b\" \\ c.txt"`, String.raw`a "b" \ c.txt`],
      [String.raw`form-data; name="file"; filename="a\\.txt"`, String.raw`a\.txt`],
      [String.raw`form-data; name="file"; filename="a %22b%22 \\ c.txt"`, String.raw`a "b" \ c.txt`],
      [String.raw`form-data; name="file"; filename="C:\files\a.txt"`, String.raw`C:\files\a.txt`],
    ])('reads %s', async (disposition, name) => {
      const body = form(part([`Content-Disposition: ${disposition}`], 'x'));
      expect((await upload.raw(body)).body.data).toMatchObject({
        original_name: name,
        content_type: 'text/plain',
      });
    });

    it('refuses a name of more than 255 characters, and says how long it may be', async () => {
      const response = await upload.file(`${'a'.repeat(252)}.pdf`, pdf('x'), { type: 'application/pdf' });
      expect(summaryOf(response)).toBe('400/10006 File name is too long (max length: 255 characters)');
    });

    it.each([
      ['a line feed (C0)', '%0a', 'U+000A'],
      ['a delete', '%7f', 'U+007F'],
      ['a control sequence introducer (C1)', '%c2%9b', 'U+009B'],
      ['a line separator', '%e2%80%a8', 'U+2028'],
      ['a right-to-left override', '%e2%80%ae', 'U+202E'],
      ['a left-to-right isolate', '%e2%81%a6', 'U+2066'],
      ['the end of an isolate', '%e2%81%a9', 'U+2069'],
    ])('refuses a name with %s', async (_what, encoded, codePoint) => {
      const disposition = `form-data; name="file"; filename*=UTF-8''a${encoded}b.txt`;
      const response = await upload.raw(form(part([`Content-Disposition: ${disposition}`], 'x')));
      expect(summaryOf(response)).toBe(
        `400/10006 File name has a character that is not allowed: ${codePoint}`,
      );
    });

    it('takes a field named file for a file without a name', async () => {
      const response = await upload.raw(form(part(['Content-Disposition: form-data; name="file"'], 'x')));
      expect(summaryOf(response)).toBe('400/10006 File name is missing');
      expect(response.body.data).toMatchObject({ original_name: '', size: 1 });
    });
  });

  it('gives a part that tells no type that of its extension', async () => {
    const disposition = 'Content-Disposition: form-data; name="file"; filename="a.pdf"';
    const response = await upload.raw(form(part([disposition], pdf('x'))));
    expect(response.body.data).toMatchObject({ content_type: 'application/pdf' });
  });

  it.each([
    ['empty', ''],
    ['of blanks', ' \r\n'],
    ['null', 'null'],
    ['without a scope', '{"scope":null}'],
    ['{} after a BOM', '\ufeff{}'],
    ['of 64 levels', `{"x":${'['.repeat(63)}${']'.repeat(63)}}`],
    ['of 1,000 values', `{"x":[${'0,'.repeat(998)}0]}`],
  ])('takes data that is %s as no data', async (_what, data) => {
    const response = await upload.raw(form(filePart('a.txt', 'Hello'), dataPart(data)));
    expect(summaryOf(response)).toBe('200/0 success');
    expect(response.body.data).toMatchObject({ scope: 'persistent' });
  });
});

describe('the form', () => {
  const upload = uploaderOf(service, tenant);
  const file = filePart('a.txt', 'Hello');
  const ofData = 'Content-Disposition: form-data; name="data"';

  it.each([
    ['behind the file', form(file, dataPart('{"scope":"ephemeral"}'))],
    ['before the file', form(dataPart('{"scope":"ephemeral"}'), file)],
    [
      'as JSON by its type',
      form(file, part([ofData, 'Content-Type: application/json'], '{"scope":"ephemeral","more":1}')),
    ],
  ])('takes data %s', async (_where, body) => {
    expect((await upload.raw(body)).body.data).toMatchObject({ scope: 'ephemeral' });
  });

  it('skips parts that it does not know, and what stands around the form', async () => {
    const other = part(['Content-Disposition: form-data; name="other"; filename="b.exe"'], png);
    const body = Buffer.concat([Buffer.from('before\r\n'), form(other, file, other), Buffer.from('after')]);
    expect((await upload.raw(body)).status).toBe(200);
  });

  const malformed = 'The body is not valid multipart/form-data';
  const cutOff = `${malformed}: it ends before its last boundary`;
  const tooDeep = 'data has too many levels: at most 64 objects and arrays in each other';
  const tooMany = 'data has too many values: at most 1000 fields and elements together';
  const notUtf8 = Buffer.from('{"x":"\xff"}', 'latin1');
  const wrongName = Buffer.from(form(filePart('\xfc.txt', 'Hello')).toString(), 'latin1');
  const deep = `{"x":${'['.repeat(64)}${']'.repeat(64)}}`;
  const cutAfterBoth = form(dataPart('{"scope":"ephemeral"}'), file).subarray(0, -10);
  const ephemeral = { ...nothing, scope: 'ephemeral' };
  const wrongScope = 'data.scope must be one of persistent, ephemeral';
  it.each([
    ['no file', form(dataPart('{}')), 'file is required', nothing],
    ['nothing at all', form(), 'file is required', nothing],
    ['no file with a scope', form(dataPart('{"scope":"ephemeral"}')), 'file is required', ephemeral],
    ['two files', form(file, filePart('b.txt', 'Bye')), 'file is given more than once', {}],
    ['data twice', form(file, dataPart('{}'), dataPart('{}')), 'data is given more than once', {}],
    ['broken JSON', form(file, dataPart('{scope')), 'data is not valid JSON', {}],
    ['a list', form(file, dataPart('[]')), 'data must be a JSON object', {}],
    ['an unknown scope', form(dataPart('{"scope":"forever"}'), file), wrongScope, {}],
    ['a scope of another type', form(file, dataPart('{"scope":1}')), wrongScope, {}],
    ['data that is not UTF-8', form(file, part([ofData], notUtf8)), 'data is not valid UTF-8', {}],
    [
      'a file name that is not UTF-8',
      wrongName,
      `${malformed}: a header of a part is not valid UTF-8`,
      nothing,
    ],
    [
      'much data',
      form(file, dataPart(`{"x":"${'y'.repeat(70_000)}"}`)),
      'data must be at most 65536 bytes',
      {},
    ],
    ['data with many levels', form(file, dataPart(deep)), tooDeep, {}],
    ['data with many values', form(file, dataPart(`{"x":[${'0,'.repeat(999)}0]}`)), tooMany, {}],
    ['a form that is cut off', form(file).subarray(0, -10), cutOff, {}],
    ['a file that is cut off', file.subarray(0, -5), cutOff, { size: 2 }],
    ['a form that is cut off after data and file', cutAfterBoth, cutOff, { scope: 'ephemeral' }],
  ])('refuses %s, in one piece and in many', async (_what, body, message, data) => {
    for (const response of [await upload.raw(body), await upload.raw(inChunks(body))]) {
      expect(summaryOf(response)).toBe(`400/10006 ${message}`);
      expect(response.body.data).toEqual({
        ...{ original_name: 'a.txt', content_type: 'text/plain', size: 5, scope: 'persistent' },
        ...{ error_msg: message, ...data },
      });
    }
  });

  it.each([
    ['another boundary', `multipart/form-data; boundary=other`, cutOff],
    ['no boundary', 'multipart/form-data', `${malformed}: Content-Type names no boundary`],
    [
      'a boundary outside of ASCII',
      `multipart/form-data; boundary="${'é'.repeat(200)}"`,
      `${malformed}: its boundary has characters outside of ASCII`,
    ],
    ['another type', 'application/json', 'Content-Type must be multipart/form-data'],
    ['a type that is none', 'multipart', 'Content-Type must be multipart/form-data'],
  ])('refuses a Content-Type with %s', async (_what, contentType, message) => {
    const response = await upload.raw(form(file), { contentType });
    expect(summaryOf(response)).toBe(`400/10006 ${message}`);
    expect(response.body.data).toEqual({ ...nothing, scope: 'persistent', error_msg: message });
  });

  it('takes a quoted boundary', async () => {
    const contentType = `multipart/form-data; charset=utf-8; boundary="${boundary}"`;
    expect((await upload.raw(form(file), { contentType })).status).toBe(200);
  });
});

describe.each([
  ['the distribution', service.baseUrl],
  ['the gateway itself', `${service.run.endpoints.gateway}/v1`],
])('through %s', (_door, baseUrl) => {
  const upload = uploaderOf({ baseUrl }, tenant);

  it('stores a document, and gives its address', async () => {
    const content = docx('A letter');
    const { body } = await upload.raw(form(filePart('letter.docx', content, wordType)));
    const stored = await fetch((body.data as { file_url: string }).file_url);
    expect(Buffer.from(await stored.arrayBuffer()).equals(Buffer.from(content))).toBe(true);
  });

  it('leaves nothing of what it refuses', async () => {
    const own = await openTenant(service);
    const other = uploaderOf({ baseUrl }, own);
    const large = Buffer.alloc(3 * 1024 * 1024, 'x');
    for (const body of [
      form(filePart('a.exe', large)),
      form(filePart('a.png', large, 'image/png')),
      form(filePart('a.txt', large), dataPart('{"scope":"forever"}')),
      form(filePart('a.txt', large), filePart('b.txt', 'x')),
      form(filePart('a.txt', large)).subarray(0, -20),
    ])
      expect((await other.raw(body)).status).toBe(400);
    expect(await fileBucketOf(service).keysOf(own.workspaceId)).toEqual({ objects: [], uploads: [] });
  });

  it('asks for a key, also of who sends no form', async () => {
    const anonymous = uploaderOf({ baseUrl }, { apiKey: 'ak_unknown' });
    for (const body of [form(filePart('a.txt', 'x')), 'no form'])
      expect(summaryOf(await anonymous.raw(body))).toBe(
        '400/10001 Missing or invalid API key: send a valid key in the header x-api-key',
      );
  });
});
