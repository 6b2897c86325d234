import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import type { CallUsage } from '#domain/chats/agent-runtime.ts';
import { usageOf } from './model-response.ts';
import type { RetryingModel } from './retrying-model.ts';

const titleCharacters = 60;
const readCharacters = 10_000;

const instructions = `You name conversations. Answer with a title of at most six words for the conversation that begins with the message below, in the language of the message, without quotation marks and without a full stop. Do not answer the message itself.`;

const messageCharacters = 4000;

/** A title has about ten tokens; the rest is room for models that reason first. */
const maxOutputTokens = 1024;

/**
 * @param onCall called as `RetryingModel` says
 * @throws the error of the call, such as ModelFailure
 */
export async function titleOf(
  model: RetryingModel,
  message: string,
  signal: AbortSignal,
  onCall: (isCalled: boolean) => void,
): Promise<{ title: string | undefined; usage: CallUsage }> {
  const start = [...message].slice(0, messageCharacters).join('');
  const options = {
    prompt: [
      { role: 'system', content: instructions },
      { role: 'user', content: [{ type: 'text', text: start }] },
    ],
    maxOutputTokens,
    abortSignal: signal,
  } satisfies LanguageModelV4CallOptions;
  const { content, finishReason, usage } = await model.generate(options, onCall);
  const isUsable = finishReason.unified !== 'error' && finishReason.unified !== 'content-filter';
  const text = content.map((part) => (part.type === 'text' ? part.text : '')).join('');
  return { title: isUsable ? trimTitle(text) : undefined, usage: usageOf(usage) };
}

/** Undefined if it finds no title in the text, for example because that is JSON. */
export function trimTitle(text: string): string | undefined {
  const reply = withoutReasoning(text).slice(0, readCharacters).toWellFormed().trimStart();
  const line = /^[{[]/.test(reply) ? undefined : reply.split(lineBreak).map(titleIn).find(hasWords);
  if (line === undefined || /[{}]|<[^<>]*>/.test(line)) return undefined;
  const words = line.split(/\s+/u);
  let title = words.shift() ?? '';
  for (const word of words) {
    if ([...title, ' ', ...word].length > titleCharacters) break;
    title += ` ${word}`;
  }
  const characters = [...title];
  return characters.length <= titleCharacters
    ? title
    : `${characters.slice(0, titleCharacters - 1).join('')}…`;
}

/** The start tag may be missing, because some models get it with the prompt. */
function withoutReasoning(text: string): string {
  const end = Math.max(
    ...['</think>', '</thinking>'].map((tag) => {
      const at = text.toLowerCase().lastIndexOf(tag);
      return at < 0 ? 0 : at + tag.length;
    }),
  );
  const reply = text.slice(end);
  return /^\s*<think(ing)?>/i.test(reply) ? '' : reply;
}

const lineBreak = /[\n\r\v\f\u2028\u2029]/;

function titleIn(line: string): string {
  if (/^\s*(```|~~~)/.test(line)) return '';
  const title = withoutTrailingMarks(line.replace(announcement, '').replace(leadingMarks, ''));
  return title.endsWith(':') || title.endsWith('：') ? '' : title;
}

const hasWords = (line: string): boolean => /[\p{L}\p{N}\p{Extended_Pictographic}]/u.test(line);

const announcement =
  /^[\s*_]*(?:(?:sure|certainly|of course|okay|ok)\b[,.!\s]*)?here(?:'s|’s| is) [^:]*(?::|$)/iu;
const leadingMarks = /^[\s#*_"'“”„«»`]*(?:title\s*:)?[\s*_"'“”„«»`]*/iu;
const trailingMark = /[\s*_"'“”„«»`]/u;

/** A pattern that ends in `+$` would take time that grows with the square of the length. */
function withoutTrailingMarks(line: string): string {
  let end = line.length;
  while (end > 0 && trailingMark.test(line.charAt(end - 1))) end -= 1;
  return line.slice(0, end);
}
