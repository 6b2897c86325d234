import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { decodeText } from '#adapters/documents/decode-text.ts';
import { readHtml } from '#adapters/documents/read-html.ts';

type EncodedText = readonly [encoding: string, text: string];

/** Texts of many kinds in encodings that programs of their region write. */
const encodedTexts = readFileSync(join(import.meta.dirname, '../support/encoded-texts.jsonl'), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as EncodedText);

/** Texts in encodings that are not detected. */
const otherTexts: readonly EncodedText[] = [
  [
    'macintosh',
    'Für die Übersendung der Unterlagen möchten wir uns herzlich bedanken. Die Prüfung wird voraussichtlich zwei Wochen dauern.',
  ],
  [
    'x-mac-cyrillic',
    'Программа устанавливается в каталог пользователя. Если файл настроек отсутствует, он будет создан автоматически.',
  ],
  [
    'ibm866',
    'Сообщения об ошибках записываются в журнал. Перед обновлением рекомендуется сделать копию всех данных.',
  ],
];

const thaiTexts = [
  'เรียนลูกค้าทุกท่าน ขอบคุณสำหรับคำสั่งซื้อของท่าน สินค้าจะจัดส่งภายในสามวันทำการตามที่อยู่ที่แจ้งไว้',
  'กรุณาส่งเอกสารภายในวันที่สามสิบเอ็ด',
  'วันนี้อากาศดีมาก เราไปเที่ยวทะเลกันเถอะ',
  'สวัสดีครับ ผมชื่อสมชาย ทำงานอยู่ที่กรุงเทพมหานคร',
];

/** The bytes of each character in an encoding that Node.js only decodes. */
const tables = new Map<string, ReadonlyMap<string, readonly number[]>>();

function tableOf(encoding: string): ReadonlyMap<string, readonly number[]> {
  const decoder = new TextDecoder(encoding);
  const table = new Map<string, readonly number[]>();
  const add = (...bytes: number[]): void => {
    const character = decoder.decode(Uint8Array.from(bytes));
    if ([...character].length === 1 && character !== '\uFFFD' && !table.has(character))
      table.set(character, bytes);
  };
  for (let byte = 0; byte < 256; byte += 1) add(byte);
  if (/^(?:windows|koi8|ibm|.*mac)/.test(encoding)) return table;
  for (let lead = 0x81; lead < 0xff; lead += 1)
    for (let trail = 0x40; trail < 0xff; trail += 1) add(lead, trail);
  return table;
}

function bytesOf(encoding: string, character: string): readonly number[] {
  if (encoding.startsWith('utf-16')) {
    const bytes = Buffer.from(character, 'utf16le');
    return [...(encoding === 'utf-16be' ? bytes.swap16() : bytes)];
  }
  const table = tables.get(encoding) ?? tableOf(encoding);
  tables.set(encoding, table);
  const bytes = table.get(character);
  if (bytes === undefined) throw new Error(`${encoding} has no ${character}`);
  return bytes;
}

/** As many whole characters of the text, repeated if it is too short, as have so many bytes. */
function encoded(encoding: string, text: string, length: number): { bytes: Uint8Array; text: string } {
  const bytes: number[] = [];
  let written = '';
  for (;;)
    for (const character of `${text} `) {
      const next = bytesOf(encoding, character);
      if (bytes.length + next.length > length) return { bytes: Uint8Array.from(bytes), text: written };
      bytes.push(...next);
      written += character;
    }
}

const unknown = /^the encoding is unknown: read as [a-z\d-]+$/;

describe.each([
  // Some of these texts have three letters beyond ASCII.
  { length: 30, least: 34 },
  { length: 300, least: 38 },
  { length: 3000, least: 40 },
])('of 40 texts of $length bytes without a declared encoding', ({ length, least }) => {
  const read = encodedTexts.map(([encoding, text]) => {
    const sample = encoded(encoding, text, length);
    const decoded = decodeText(sample.bytes);
    const isSure = !decoded.notices.some((notice) => unknown.test(notice));
    return { encoding, start: sample.text.slice(0, 20), isRight: decoded.text === sample.text, isSure };
  });

  it('none is wrong without a notice', () => {
    expect(read).toHaveLength(40);
    expect(read.filter(({ isRight, isSure }) => !isRight && isSure)).toEqual([]);
  });

  it(`${least} are right without a notice`, () => {
    expect(read.filter(({ isRight, isSure }) => isRight && isSure).length).toBeGreaterThanOrEqual(least);
  });
});

it.each(otherTexts)('a text in %s is told to be uncertain', (encoding, text) => {
  for (const length of [30, 300, 3000])
    expect(decodeText(encoded(encoding, text, length).bytes).notices).toContainEqual(
      expect.stringMatching(unknown),
    );
});

it.each(thaiTexts)('a Thai text whose bytes are possible in encodings of East Asia: %s', (text) => {
  for (const length of [300, 3000]) {
    const sample = encoded('windows-874', text, length);
    expect(decodeText(sample.bytes)).toEqual({ text: sample.text, notices: [] });
  }
});

it('a declared encoding counts if the bytes fit it', () => {
  for (const [encoding, text] of encodedTexts) {
    const { bytes, text: written } = encoded(encoding, text, 30);
    expect(decodeText(bytes, encoding)).toEqual({ text: written, notices: [] });
  }
  const { bytes, text } = encoded('windows-1251', 'Иван', 4);
  expect(decodeText(bytes, 'windows-1251')).toEqual({ text, notices: [] });
  expect(decodeText(Buffer.from('Größe'), 'us-nothing')).toEqual({ text: 'Größe', notices: [] });
  const [gbk, chinese = ''] = encodedTexts.find(([encoding]) => encoding === 'gbk') ?? [];
  const undeclared = encoded(gbk ?? '', chinese, 300);
  expect(decodeText(undeclared.bytes, 'utf-8')).toEqual({ text: undeclared.text, notices: [] });
});

it('a byte order mark counts more than what is declared', () => {
  expect(decodeText(Buffer.from('\uFEFFGrün'), 'windows-1252')).toEqual({ text: 'Grün', notices: [] });
  expect(decodeText(Buffer.from('\uFEFFGrün', 'utf16le'), 'utf-8').text).toBe('Grün');
  expect(decodeText(Buffer.from('\uFEFFGrün', 'utf16le').swap16()).text).toBe('Grün');
});

it('a wrong byte in UTF-8 costs one character, and is told of', () => {
  const damaged = (text: string, ...at: number[]) => {
    const bytes = Buffer.from(text);
    for (const index of at) bytes[index] = 0xff;
    return bytes;
  };
  expect(decodeText(damaged('Größe a 中文', 7))).toEqual({
    text: 'Größe\uFFFDa 中文',
    notices: ['not valid utf-8 in 1 place, shown as \uFFFD'],
  });
  expect(decodeText(damaged('Größe a b 中文 und naïve Übung', 7, 9)).notices).toEqual([
    'not valid utf-8 in 2 places, shown as \uFFFD',
  ]);
  // Three valid characters for each wrong one are UTF-8; less are not.
  expect(decodeText(damaged('äöü x', 7)).text).toBe('äöü \uFFFD');
  expect(decodeText(damaged('äö xx', 5)).notices).toEqual([expect.stringMatching(unknown)]);
});

it('a page without a declaration is read like a text', () => {
  const russian = encodedTexts.find(([encoding]) => encoding === 'windows-1251')?.[1] ?? '';
  const { bytes, text } = encoded('windows-1251', `<p>${russian}</p>`, 300);
  expect(readHtml(bytes).text).toContain(text.slice(3, 100));
  const meta = encoded('windows-1251', '<meta charset=windows-1251><p>Иван', 60);
  expect(readHtml(meta.bytes).text).toContain('Иван');
  expect(readHtml(Uint8Array.from([0x61, 0x81])).notices).toEqual([expect.stringMatching(unknown)]);
  expect(readHtml(encoded('koi8-r', '<p>Иван', 7).bytes, 'koi8-r').text).toBe('Иван');
});

it('a long text of one odd byte takes less than a second of work', () => {
  const { text, notices } = decodeText(new Uint8Array(5_000_000).fill(0x80));
  expect(text).toHaveLength(5_000_000);
  expect(notices).toHaveLength(1);
});
