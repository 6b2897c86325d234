import { analyse } from 'chardet';
import { ExtractionFailure } from '#domain/files/files.ts';
import type { Extracted } from './extracted.ts';

/** Encodings are guessed from a sample, because the detector is slow. */
const sampleBytes = 64 * 1024;
/** On a scale to 100, for an encoding of East Asia. A result with less is not sure; wrong ones usually have less. */
const eastAsianConfidence = 75;
/** From this confidence in an encoding of East Asia on, a text is not Thai. Thai texts got up to 76 as EUC-KR. */
const beyondThai = 90;
/** The detector's confidence in an encoding of East Asia that is possible, but has little evidence. */
const noEvidence = 10;
/** For encodings that are not of East Asia. A result with less is not sure; right ones usually have more. */
const leastConfidence = 10;
/** Of letters beyond ASCII that fit a language. Fewer may fit by chance. */
const minLetters = 3;
/** As shares of the letters that fit: a text may have names of other languages, and words like `кВт`. */
const tolerated = { foreignLetters: 0.1, oddLetters: 0.01 };

const cyrillic = /[\u0400-\u045f\u0490\u0491]/u;

const alphabets: Readonly<Record<string, RegExp>> = {
  ar: /\p{Script=Arabic}/u,
  cs: /[áčďéěíňóřšťúůýžäľĺôŕćđ]/u,
  da: /[æøåéèóüäö]/u,
  de: /[äöüßéàè]/u,
  el: /\p{Script=Greek}/u,
  en: /[éèêëïöüçñàâôœæäáíóú]/u,
  es: /[áéíóúüñºª]/u,
  et: /[äöõüšž]/u,
  fr: /[àâæçéèêëîïôœùûüÿ]/u,
  he: /\p{Script=Hebrew}/u,
  hu: /[áéíóöőúüű]/u,
  it: /[àèéìíîòóùú]/u,
  lt: /[ąčęėįšųūž]/u,
  lv: /[āčēģīķļņšūžōŗ]/u,
  nl: /[éëïóöüèáêçíúàä]/u,
  no: /[æøåéèóòôüäö]/u,
  pl: /[ąćęłńóśźż]/u,
  pt: /[áâãàçéêíóôõúüºª]/u,
  ro: /[ăâîşţșț]/u,
  ru: cyrillic,
  sv: /[åäöéüà]/u,
  th: /\p{Script=Thai}/u,
  // JavaScript's small form of İ is i followed by U+0307.
  tr: /[\u0307çğıöşüâîû]/u,
};

/** Beyond ASCII, a capital letter after a small one, or a sign within a word, may show a wrong encoding. */
const oddWithinWord = /\p{Ll}(?![A-Z])\p{Lu}|\p{L}(?![\0-\x7f’·–—…\u00ad\u200c])[\p{P}\p{S}](?=\p{L})/gu;

const eastAsian = ['zh', 'ja', 'ko'];

/**
 * The first possible result of the library, which does not check that a language has the letters of the text.
 * @returns `isSure`: false if no result is possible, or the library is not confident
 */
export function detectEncoding(bytes: Uint8Array): { encoding: string; isSure: boolean } {
  const sample = sampleOf(bytes);
  const found = analyse(sample)
    .flatMap(({ name, ...guess }) => encodingsOf(name).map((encoding) => ({ encoding, ...guess })))
    .find((guess) => isPossible(sample, guess));
  if (found?.lang === undefined) return { encoding: 'windows-1252', isSure: false };
  const least = eastAsian.includes(found.lang) ? eastAsianConfidence : leastConfidence;
  return { encoding: found.encoding, isSure: found.confidence >= least };
}

/** Around the first byte beyond ASCII. */
function sampleOf(bytes: Uint8Array): Uint8Array {
  const first = bytes.findIndex((byte) => byte >= 0x80);
  const start = Math.max(first, 0);
  return bytes.subarray(Math.max(start - sampleBytes / 2, 0), start + sampleBytes / 2);
}

interface Guess {
  encoding: string;
  lang?: string;
  confidence: number;
}

function isPossible(sample: Uint8Array, { encoding, lang, confidence }: Guess): boolean {
  if (lang === undefined) return false;
  if (!eastAsian.includes(lang)) return fitsLanguage(sample, encoding, lang);
  return confidence > noEvidence && (confidence >= beyondThai || !fitsLanguage(sample, 'windows-874', 'th'));
}

function encodingsOf(name: string): string[] {
  // KOI8-U has the Russian letters of KOI8-R and also the Ukrainian ones.
  if (name === 'KOI8-R') return ['koi8-u'];
  if (name === 'ISO-8859-2') return ['iso-8859-2', 'windows-1250'];
  return [name.toLowerCase()];
}

function fitsLanguage(sample: Uint8Array, encoding: string, lang: string): boolean {
  let text: string;
  try {
    text = new TextDecoder(encoding, { fatal: true }).decode(sample);
  } catch {
    return false;
  }
  const alphabet = alphabets[lang];
  const unusual = text.match(/[^\0-\x7f\p{P}\p{Zs}£€§©®™°²³½¼¾×±µ·´№¬\u00ad\u200c-\u200f]/gu) ?? [];
  const letters = unusual.filter((letter) => alphabet?.test(letter.toLowerCase()));
  const odd = text.match(oddWithinWord) ?? [];
  return (
    letters.length >= minLetters &&
    unusual.length - letters.length <= letters.length * tolerated.foreignLetters &&
    odd.length <= letters.length * tolerated.oddLetters
  );
}

const byteOrderMarks = [
  { encoding: 'utf-8', bytes: [0xef, 0xbb, 0xbf] },
  { encoding: 'utf-16le', bytes: [0xff, 0xfe] },
  { encoding: 'utf-16be', bytes: [0xfe, 0xff] },
];

export function decodeText(bytes: Uint8Array, declared?: string): { text: string; notices: string[] } {
  const mark = byteOrderMarks.find((mark) => mark.bytes.every((byte, index) => bytes[index] === byte));
  if (mark !== undefined) return decodedWith(mark.encoding, bytes);
  const known = [declared, 'utf-8'].find((encoding) => encoding !== undefined && fits(encoding, bytes));
  if (known !== undefined) return decodedWith(known, bytes);
  const utf16 = ['utf-16le', 'utf-16be'].find((encoding) => isUtf16(encoding, bytes));
  if (utf16 !== undefined) return decodedWith(utf16, bytes);
  const { encoding, isSure } = detectEncoding(bytes);
  const { text, notices } = decodedWith(encoding, bytes);
  return { text, notices: [...(isSure ? [] : [`the encoding is unknown: read as ${encoding}`]), ...notices] };
}

function decodedWith(encoding: string, bytes: Uint8Array): { text: string; notices: string[] } {
  const text = new TextDecoder(encoding).decode(bytes);
  const { wrong } = countsOf(text);
  const places = wrong === 1 ? '1 place' : `${wrong} places`;
  return { text, notices: wrong === 0 ? [] : [`not valid ${encoding} in ${places}, shown as \uFFFD`] };
}

/** A text may have 50 million units, so the loop makes no list of matches. */
function countsOf(text: string): { wrong: number; right: number } {
  let [wrong, right] = [0, 0];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0xfffd) wrong += 1;
    else if (code > 0x7f) right += 1;
  }
  return { wrong, right };
}

function fits(encoding: string, bytes: Uint8Array): boolean {
  try {
    const text = new TextDecoder(encoding).decode(bytes);
    const { wrong, right } = countsOf(text);
    return wrong * 3 <= right && !text.includes('\0');
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

const common = /[\t\n\r -~、。，！：；？「」ぁ-んァ-ヶー]/g;
const impossible = /[^\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}\t\n\r\f\u200c-\u200f]/u;

/** Text in another encoding, read as UTF-16, usually has too few common characters or an impossible one. */
function isUtf16(encoding: string, bytes: Uint8Array): boolean {
  const sample = new TextDecoder(encoding).decode(
    bytes.subarray(0, Math.min(bytes.length & ~1, sampleBytes)),
  );
  return (sample.match(common)?.length ?? 0) >= sample.length * 0.03 && !impossible.test(sample);
}

/**
 * @param charset the encoding that was declared with the file
 * @throws ExtractionFailure `unreadable` for a text with null characters
 */
export function readPlainText(bytes: Uint8Array, charset?: string): Extracted {
  const { text, notices } = decodeText(bytes, charset);
  if (text.includes('\0')) throw new ExtractionFailure('unreadable', 'is not text');
  return { text: text.replaceAll(/\r\n?/g, '\n'), pageOffsets: [], notices };
}
