import { detectEncoding } from './detect-encoding.ts';

export interface DecodedText {
  text: string;
  notices: string[];
}

const byteOrderMarks = [
  { encoding: 'utf-8', bytes: [0xef, 0xbb, 0xbf] },
  { encoding: 'utf-16le', bytes: [0xff, 0xfe] },
  { encoding: 'utf-16be', bytes: [0xfe, 0xff] },
];

/**
 * Decodes a text by its byte order mark; else as declared, if the bytes fit; else as UTF-8, if they nearly do; else as
 * UTF-16, if it looks so; else by frequent letters. If the result is uncertain, a notice says so.
 * @param declared the name of an encoding; ignored if it is unknown
 */
export function decodeText(bytes: Uint8Array, declared?: string): DecodedText {
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

function decodedWith(encoding: string, bytes: Uint8Array): DecodedText {
  const text = new TextDecoder(encoding).decode(bytes);
  const { wrong } = countsOf(text);
  const places = wrong === 1 ? '1 place' : `${wrong} places`;
  return { text, notices: wrong === 0 ? [] : [`not valid ${encoding} in ${places}, shown as \uFFFD`] };
}

/** Counts characters that could not be decoded, and others beyond ASCII. A loop, because a text may have 50 MB of them. */
function countsOf(text: string): { wrong: number; right: number } {
  let [wrong, right] = [0, 0];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0xfffd) wrong += 1;
    else if (code > 0x7f) right += 1;
  }
  return { wrong, right };
}

/** At most a quarter of the characters beyond ASCII are wrong. In a text of another encoding most are wrong. */
function fits(encoding: string, bytes: Uint8Array): boolean {
  try {
    const text = new TextDecoder(encoding).decode(bytes);
    const { wrong, right } = countsOf(text);
    return wrong * 3 <= right && !text.includes('\0');
  } catch (error) {
    // An unknown name.
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/** As many bytes as the detector of other encodings reads. */
const sampleBytes = 64 * 1024;
/** Spaces, letters and digits of ASCII, punctuation and letters of East Asia. */
const common = /[\t\n\r -~、。，！：；？「」ぁ-んァ-ヶー]/g;
const impossible = /[^\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}\t\n\r\f\u200c-\u200f]/u;

/** Of a text in another encoding, no character is common, or some are impossible. */
function isUtf16(encoding: string, bytes: Uint8Array): boolean {
  const sample = new TextDecoder(encoding).decode(
    bytes.subarray(0, Math.min(bytes.length & ~1, sampleBytes)),
  );
  return (sample.match(common)?.length ?? 0) >= sample.length * 0.03 && !impossible.test(sample);
}
