import { readFileSync } from 'node:fs';
import { join } from 'node:path';

type EncodedText = readonly [encoding: string, text: string];

/** Texts of many kinds in encodings that programs of their region write. */
export const encodedTexts = readFileSync(join(import.meta.dirname, 'encoded-texts.jsonl'), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as EncodedText);

/** Texts in encodings that are not detected. */
export const otherTexts: readonly EncodedText[] = [
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

export const thaiTexts = [
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
export function encoded(encoding: string, text: string, length: number): { bytes: Uint8Array; text: string } {
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
