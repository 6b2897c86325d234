import type { TextBounds } from '#domain/files/attachment-reader.ts';
import type { PreparedAttachment, PreparedAttachments } from '#domain/files/prepared-attachments.ts';

type Read = NonNullable<Awaited<ReturnType<PreparedAttachments['get']>>>;

/**
 * The text is the last field, so that a reader knows its length before it reads it. Objects of an earlier version have
 * the text before the other fields and no length.
 */
export function preparedJson(prepared: PreparedAttachment): string {
  if (prepared.type !== 'text') return JSON.stringify(prepared);
  const { type, text, pageOffsets } = prepared;
  return JSON.stringify({ type, characters: text.length, pageOffsets, text });
}

/**
 * Copies the start of a text. A plain slice would keep the whole original text in memory. Lone surrogates are replaced.
 */
export const startOfText = (text: string, characters: number): string =>
  Buffer.from(text.slice(0, characters)).toString();

/** The text starts after this marker. It cannot occur inside other values: quotation marks are escaped there. */
const textField = '"text":"';

/** Maximum length of the fields before the text, in characters. The offsets of 5,000 pages take about 50,000. */
const maxFieldCharacters = 200_000;

/**
 * Parses what `preparedJson` wrote while it arrives, and stops as soon as the bounds are met: a text may have 20
 * million characters.
 */
export async function readPreparedJson(
  bytes: AsyncIterable<Uint8Array>,
  { whole, start }: TextBounds,
): Promise<Read> {
  const decoder = new TextDecoder();
  let fields: { type: 'text'; characters?: number; pageOffsets?: number[] } | undefined;
  let unread = '';
  const segments: string[] = [];
  let length = 0;
  let hasEnded = false;
  const startOf = (characters: number | undefined): Read => ({
    type: 'beginning',
    text: startOfText(segments.join(''), start),
    ...(characters !== undefined && { characters }),
  });

  for await (const chunk of bytes) {
    unread += decoder.decode(chunk, { stream: true });
    if (fields === undefined) {
      const end = unread.indexOf(textField) + textField.length;
      if (end >= textField.length) {
        fields = JSON.parse(`${unread.slice(0, end)}"}`) as typeof fields;
        unread = unread.slice(end);
      }
    }
    if (fields !== undefined && !hasEnded) {
      const found = textIn(unread);
      ({ rest: unread, hasEnded } = found);
      segments.push(found.text);
      length += found.text.length;
      const { characters } = fields as { characters?: number };
      if (length > whole || (characters !== undefined && characters > whole && length >= start))
        return startOf(characters);
    } else if (unread.length > maxFieldCharacters)
      throw new Error('A prepared attachment has an unknown format');
  }
  if (fields === undefined) return JSON.parse(unread) as PreparedAttachment;
  if (!hasEnded) throw new Error('A prepared attachment ended within its text');
  const rest = JSON.parse(`{"type":"text"${unread}`) as Pick<typeof fields, 'pageOffsets'>;
  const { pageOffsets = [] } = { ...fields, ...rest };
  return { type: 'text', text: segments.join('').toWellFormed(), pageOffsets };
}

/** The text up to its closing quotation mark, or up to the last complete escape sequence. */
function textIn(json: string): { text: string; rest: string; hasEnded: boolean } {
  const special = /["\\]/g;
  for (let match = special.exec(json); match !== null; match = special.exec(json)) {
    const { index } = match;
    if (match[0] === '"')
      return { text: unescaped(json.slice(0, index)), rest: json.slice(index + 1), hasEnded: true };
    const end = index + (json[index + 1] === 'u' ? 6 : 2);
    if (end > json.length)
      return { text: unescaped(json.slice(0, index)), rest: json.slice(index), hasEnded: false };
    special.lastIndex = end;
  }
  return { text: unescaped(json), rest: '', hasEnded: false };
}

const unescaped = (json: string): string => JSON.parse(`"${json}"`) as string;
