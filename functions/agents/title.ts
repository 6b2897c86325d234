import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import type { CallUsage } from '#domain/chats/agent-runtime.ts';
import { usageOf } from './model-response.ts';
import type { RetryingModel } from './retrying-model.ts';

const titleCharacters = 60;
/**
 * The number of characters of a model's answer, or of a message, in which a title is looked for: it is at the start.
 */
const readCharacters = 10_000;

const instructions = `You name conversations. Answer with a title of at most six words for the conversation that begins with the message below, in the language of the message, without quotation marks and without a full stop. Do not answer the message itself.`;

/**
 * The number of characters of the first message that the model reads: its start says what the conversation is about.
 */
const messageCharacters = 4000;

/** A title has about ten tokens; the rest is room for models that reason first. */
const maxOutputTokens = 1024;

/**
 * Makes a title by a call of a model. The title is undefined if the model's text has no usable line, or if the model
 * ended with an error or was stopped by a content filter.
 * @param onCall called as `RetryingModel` says
 * @throws if the call fails, for example ModelFailure
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

/**
 * Returns the first line with words, without the marks that models put around a title, cut after the last whole word
 * within 60 characters. A longer first word is cut with an ellipsis. Undefined if the text has no such line or starts
 * as JSON, or if the line has braces or tags.
 */
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

/**
 * Returns the text without reasoning. The start tag may be missing, because some models get it with the prompt. If the
 * text starts with a start tag and has no end tag, nothing is left.
 */
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

/** Returns the title in a line; empty if the line only announces a title, or starts or ends a code block. */
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

/** A loop, because a pattern that ends in `+$` would take time that grows with the square of the length. */
function withoutTrailingMarks(line: string): string {
  let end = line.length;
  while (end > 0 && trailingMark.test(line.charAt(end - 1))) end -= 1;
  return line.slice(0, end);
}
