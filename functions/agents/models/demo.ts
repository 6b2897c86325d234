import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import type { ModelProvider } from './model-provider.ts';

const quotedCharacters = 200;
const titleCharacters = 60;

/**
 * A built-in model that needs no network and no key. It says that it is a demonstration and answers from the message
 * and the history alone, always the same for the same input, one word a piece; a word counts as a token.
 */
export const demo: ModelProvider = {
  needsName: false,
  model: (name) => demoModel(name),
  title: demoTitle,
};

const demoModel = (name: string): LanguageModelV4 => ({
  specificationVersion: 'v4',
  provider: 'demo',
  modelId: name === '' ? 'demo' : name,
  supportedUrls: {},
  async doGenerate(options) {
    const { words, usage } = answer(options);
    return {
      content: [{ type: 'text', text: words.join('') }],
      finishReason: { unified: 'stop', raw: 'stop' },
      usage,
      warnings: [],
    };
  },
  async doStream(options) {
    const { words, usage } = answer(options);
    const parts: LanguageModelV4StreamPart[] = [
      { type: 'stream-start', warnings: [] },
      { type: 'text-start', id: '0' },
      ...words.map((delta): LanguageModelV4StreamPart => ({ type: 'text-delta', id: '0', delta })),
      { type: 'text-end', id: '0' },
      { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage },
    ];
    return { stream: ReadableStream.from(parts) };
  },
});

function answer({ prompt }: LanguageModelV4CallOptions) {
  const texts = prompt.map((message) =>
    typeof message.content === 'string'
      ? message.content
      : message.content.map((part) => (part.type === 'text' ? part.text : '')).join(''),
  );
  const asked = texts.at(-1) ?? '';
  const earlier = prompt.filter((message) => message.role !== 'system').length - 1;
  const text = [
    'This is a demonstration: the built-in model answers without a network, from your message alone.',
    `You wrote: “${quote(asked)}”.`,
    earlier === 0
      ? 'It is the first message that I see of this chat.'
      : `I see ${earlier} earlier messages of this chat.`,
    'To get real answers, publish an agent with another llm_model.',
  ].join(' ');
  const words = wordsOf(text);
  const promptTokens = texts.reduce((sum, part) => sum + wordsOf(part).length, 0);
  return {
    words,
    usage: {
      inputTokens: { total: promptTokens, noCache: promptTokens, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: words.length, text: words.length, reasoning: 0 },
    },
  };
}

const wordsOf = (text: string): string[] => text.match(/\S+\s*|\s+/g) ?? [];

function quote(text: string): string {
  const characters = [...text];
  return characters.length <= quotedCharacters
    ? text
    : `${characters.slice(0, quotedCharacters).join('')}… (the first ${quotedCharacters} of ${characters.length} characters)`;
}

/** The message's first words, as many as fit; nothing when it has none. */
function demoTitle(message: string): string {
  const words = message.trim().split(/\s+/);
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
