import { analyse } from 'chardet';

/** The detector takes 1 s for 1 MB, and is as sure after 64 KB. */
const sampleBytes = 64 * 1024;
/** Of texts in other encodings, Thai ones got up to 59 of 100 and Korean ones in Johab 73. Nearly all right ones get more. */
const eastAsianConfidence = 75;
/** What the detector gives an encoding of East Asia that is possible, and no more. */
const noEvidence = 10;
/** Right encodings of other regions have 12 and more. */
const leastConfidence = 10;
/** Fewer letters fit an alphabet by chance. */
const minLetters = 3;
/** A text may have names and words of other languages, and a few words like кВт. */
const tolerated = { foreignLetters: 0.1, oddLetters: 0.01 };

const cyrillic = /[\u0400-\u045f\u0490\u0491]/u;

/** The letters beyond ASCII of the languages that the detector names. */
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
  // U+0307 is in the small form of İ.
  tr: /[\u0307çğıöşüâîû]/u,
};

/** A capital letter after a small one, or a sign between letters: in another encoding it is a letter. */
const oddWithinWord = /\p{Ll}(?![A-Z])\p{Lu}|\p{L}(?![\0-\x7f’·–—…\u00ad\u200c])[\p{P}\p{S}](?=\p{L})/gu;

const eastAsian = ['zh', 'ja', 'ko'];

export interface DetectedEncoding {
  encoding: string;
  /** False if the text may be in another encoding. */
  isSure: boolean;
}

/**
 * Detects the encoding of a text that is neither UTF-8 nor UTF-16. The library ranks encodings by frequent groups of
 * letters, and counts no letters that a language does not have. So the first one counts whose letters fit its language.
 */
export function detectEncoding(bytes: Uint8Array): DetectedEncoding {
  const start = Math.max(
    bytes.findIndex((byte) => byte >= 0x80),
    0,
  );
  const sample = bytes.subarray(Math.max(start - sampleBytes / 2, 0), start + sampleBytes / 2);
  for (const { name, lang, confidence } of analyse(sample))
    for (const encoding of encodingsOf(name)) {
      if (lang === undefined) continue;
      const least = eastAsian.includes(lang) ? eastAsianConfidence : leastConfidence;
      const isPossible = eastAsian.includes(lang)
        ? confidence > noEvidence
        : fitsLanguage(sample, encoding, lang);
      if (isPossible) return { encoding, isSure: confidence >= least };
    }
  return { encoding: 'windows-1252', isSure: false };
}

/** Encodings that the detector does not tell apart, the likeliest first. */
function encodingsOf(name: string): string[] {
  // KOI8-U has the Ukrainian letters in addition.
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
