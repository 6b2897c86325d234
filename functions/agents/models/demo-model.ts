import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import type { JsonSchema } from '#contract/json-schema.ts';
import { jsonIn } from '#domain/platform/parse-json.ts';

const quotedCharacters = 200;
const shownCharacters = 1000;

type ToolCall = Extract<LanguageModelV4Content, { type: 'tool-call' }>;

export async function partsOf(call: LanguageModelV4CallOptions): Promise<LanguageModelV4StreamPart[]> {
  const { prompt, tools = [], toolChoice, responseFormat } = call;
  const userMessage = prompt.findLast(({ role }) => role === 'user');
  const message = userMessage === undefined ? '' : textOf(userMessage);
  const results = toolResults(prompt);
  const mayCall = results.length === 0 && toolChoice?.type !== 'none';
  const calls = mayCall ? toolCallsIn(message, tools) : [];
  const schema = responseFormat?.type === 'json' ? ((responseFormat.schema ?? {}) as JsonSchema) : undefined;
  const inForm = schema && (await import('#domain/chats/reply-form.ts')).smallestReply(schema);
  const words = calls.length > 0 ? [] : wordsOf(inForm ?? replyTo(message, prompt, results));
  const input = prompt.reduce((sum, each) => sum + wordsOf(textOf(each)).length, 0);
  const output = calls.length || words.length;
  const reason = calls.length > 0 ? 'tool-calls' : 'stop';
  return [
    { type: 'stream-start', warnings: [] },
    { type: 'text-start', id: '0' },
    ...words.map((delta) => ({ type: 'text-delta' as const, id: '0', delta })),
    { type: 'text-end', id: '0' },
    ...calls,
    {
      type: 'finish',
      finishReason: { unified: reason, raw: reason },
      usage: {
        inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
        outputTokens: { total: output, text: output, reasoning: 0 },
      },
    },
  ];
}

function replyTo(message: string, prompt: LanguageModelV4Prompt, results: string[]): string {
  const users = prompt.filter(({ role }) => role === 'user');
  const replies = prompt.filter((each) => each.role === 'assistant' && textOf(each) !== '');
  const previous = users.length + replies.length - 1;
  return [
    'This is a demonstration: the built-in model answers without a network, from your message alone.',
    `You wrote: “${quote(message, quotedCharacters)}”.`,
    previous === 0
      ? 'It is the first message that I see of this chat.'
      : `I see ${previous} earlier messages of this chat.`,
    ...results.map((result) => `A tool gave: ${quote(result, shownCharacters)}.`),
    'To get real answers, publish an agent with another llm_model.',
  ].join(' ');
}

function toolCallsIn(message: string, tools: readonly { name: string }[]): ToolCall[] {
  return tools
    .map(({ name }) => ({ name, at: message.indexOf(name) }))
    .filter(({ at }) => at >= 0)
    .sort((one, other) => one.at - other.at)
    .map(({ name, at }, index) => ({
      type: 'tool-call',
      toolCallId: `call_${index}`,
      toolName: name,
      input: objectAtStart(message.slice(at + name.length)),
    }));
}

/** The JSON object at the start of the text: `{}` if there is none, and the whole text if the object is not valid. */
function objectAtStart(text: string): string {
  const start = text.trimStart();
  if (!start.startsWith('{')) return '{}';
  const candidate = start.slice(0, endOfObject(start));
  return jsonIn(candidate) === undefined ? start : candidate;
}

function endOfObject(text: string): number {
  let depth = 0;
  let isString = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"') isString = !isString;
    else if (isString && character === '\\') at += 1;
    else if (!isString && character === '{') depth += 1;
    else if (!isString && character === '}') depth -= 1;
    if (depth === 0) return at + 1;
  }
  return text.length;
}

function toolResults(prompt: LanguageModelV4Prompt): string[] {
  const sinceUserMessage = prompt.slice(prompt.findLastIndex(({ role }) => role === 'user') + 1);
  return sinceUserMessage.flatMap((message) =>
    message.role === 'tool'
      ? message.content.flatMap((part) =>
          part.type === 'tool-result' && 'value' in part.output ? [JSON.stringify(part.output.value)] : [],
        )
      : [],
  );
}

const textOf = (message: LanguageModelV4Prompt[number]): string =>
  typeof message.content === 'string'
    ? message.content
    : message.content.map((part) => (part.type === 'text' ? part.text : '')).join('');

const wordsOf = (text: string): string[] => text.match(/\S+\s*|\s+/g) ?? [];

function quote(text: string, maxCharacters: number): string {
  const characters = [...text];
  return characters.length <= maxCharacters
    ? text
    : `${characters.slice(0, maxCharacters).join('')}… (the first ${maxCharacters} of ${characters.length} characters)`;
}
