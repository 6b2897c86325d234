import { ServiceError } from '#contract/errors.ts';
import { limits } from '#contract/limits.ts';

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;

/** Square brackets and braces differ only in this bit. */
const bracketBit = 0x20;
const closing = 0x7d;

const structural = new Uint8Array(0x1_00_00);
for (const character of '",[]{}') structural[character.charCodeAt(0)] = 1;

/**
 * For JSON that this service has not written. Counts levels and values first, because an array or an object takes far
 * more memory than its two characters.
 * @param mostValues maximum of fields and elements together; each empty array or object counts as one more
 * @throws badRequest that names the limit, or if the text is not JSON
 */
export function parseJson(name: string, text: string, mostValues: number): unknown {
  requireFew(name, text, mostValues);
  const value = jsonIn(text);
  if (value === undefined) throw new ServiceError('badRequest', `${name} is not valid JSON`);
  return value;
}

/** Without the limits of `parseJson`. Undefined if the text is no JSON. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function requireFew(name: string, text: string, mostValues: number): void {
  const tooMany = (rest: string) => new ServiceError('badRequest', `${name} has too many ${rest}`);
  let levels = 0;
  let values = 0;
  for (let index = nextStructural(text, 0); index < text.length; index = nextStructural(text, index + 1)) {
    const character = text.charCodeAt(index);
    if (character === quote) index = endOfString(text, index);
    else if (character === comma) values += 1;
    else if ((character | bracketBit) === closing) levels -= 1;
    else {
      levels += 1;
      // Counts the first field or element. An empty array or object counts too, because it takes memory.
      values += 1;
    }
    if (levels > limits.bodyLevels)
      throw tooMany(`levels: at most ${limits.bodyLevels} objects and arrays in each other`);
    if (values > mostValues) throw tooMany(`values: at most ${mostValues} fields and elements together`);
  }
}

function nextStructural(text: string, start: number): number {
  let index = start;
  while (index < text.length && structural[text.charCodeAt(index)] === 0) index += 1;
  return index;
}

function endOfString(text: string, start: number): number {
  let index = start + 1;
  while (index < text.length) {
    const character = text.charCodeAt(index);
    if (character === quote) return index;
    index += character === backslash ? 2 : 1;
  }
  return index;
}

/** In strings and field names, lone surrogates become U+FFFD, so that the value can be encoded as UTF-8. */
export function wellFormed<Value>(value: Value): Value;
export function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (Array.isArray(value)) return value.map((element) => wellFormed(element));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [name.toWellFormed(), wellFormed(field)]),
  );
}
