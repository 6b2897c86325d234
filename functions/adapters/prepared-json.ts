import type { TextBounds } from '#domain/files/attachment-reader.ts';
import type { PreparedAttachment, PreparedAttachments } from '#domain/files/prepared-attachments.ts';

type Read = NonNullable<Awaited<ReturnType<PreparedAttachments['get']>>>;

/** With the text last, so that its length is known before it is read. Texts of an earlier version come first, without. */
export function preparedJson(prepared: PreparedAttachment): string {
  if (prepared.type !== 'text') return JSON.stringify(prepared);
  const { type, text, pageOffsets } = prepared;
  return JSON.stringify({ type, characters: text.length, pageOffsets, text });
}

/** A copy of well-formed text: a mere slice would keep all that it was cut from in memory. */
export const startOfText = (text: string, characters: number): string =>
  Buffer.from(text.slice(0, characters)).toString();

/** Where the text begins: in other values the quotation marks are escaped. */
const textField = '"text":"';

/** What stands beside the text: the offsets of 5,000 pages take 50 KB. */
const fieldsAtMost = 200_000;

/** Reads what `preparedJson` wrote, piece by piece, and stops where the bounds are met: texts have up to 20 million characters. */
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
    } else if (unread.length > fieldsAtMost) throw new Error('A prepared attachment is not as it is written');
  }
  if (fields === undefined) return JSON.parse(unread) as PreparedAttachment;
  if (!hasEnded) throw new Error('A prepared attachment ended within its text');
  const rest = JSON.parse(`{"type":"text"${unread}`) as Pick<typeof fields, 'pageOffsets'>;
  const { pageOffsets = [] } = { ...fields, ...rest };
  return { type: 'text', text: segments.join('').toWellFormed(), pageOffsets };
}

/** The text up to its quotation mark, or as far as its escapes are whole. */
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
