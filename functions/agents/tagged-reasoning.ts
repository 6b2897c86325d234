import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';

const startTag = /^\s{0,1000}<(think|thinking)>/i;
const startOfStartTag = /^\s{0,1000}(<(t(h(i(n(k(i(n(g)?)?)?)?)?)?)?)?)?$/i;

/**
 * Servers that do not know their model's format may leave the tags `<think>` or `<thinking>` at the start of the text.
 * If the end tag is missing, the rest of the text is reasoning.
 */
export async function* withoutTaggedReasoning(
  stream: AsyncIterable<LanguageModelV4StreamPart>,
): AsyncGenerator<LanguageModelV4StreamPart> {
  const text = new TaggedText();
  let last: Extract<LanguageModelV4StreamPart, { type: 'text-delta' }> | undefined;
  function* partsOf({ reasoning, reply }: Split): Generator<LanguageModelV4StreamPart> {
    if (reasoning !== '') yield { type: 'reasoning-delta', id: 'tagged', delta: reasoning };
    if (reply !== '' && last !== undefined) yield { ...last, delta: reply };
  }
  for await (const part of stream)
    if (part.type === 'text-delta') {
      last = part;
      yield* partsOf(text.read(part.delta));
    } else {
      if (part.type === 'text-end' || part.type === 'finish') yield* partsOf(text.end());
      yield part;
    }
}

interface Split {
  reasoning: string;
  reply: string;
}

type State = 'start' | 'reasoning' | 'blanks' | 'reply';

class TaggedText {
  #state: State = 'start';
  #buffer = '';
  #endTag = '';

  read(delta: string): Split {
    if (this.#is('reply')) return { reasoning: '', reply: delta };
    this.#buffer += delta;
    if (this.#is('start')) this.#readStart();
    const reasoning = this.#is('reasoning') ? this.#readReasoning() : '';
    if (this.#is('blanks')) this.#readBlanks();
    return { reasoning, reply: this.#is('reply') ? this.#takeBuffer() : '' };
  }

  end(): Split {
    const isReasoning = this.#is('reasoning');
    const buffered = this.#takeBuffer();
    return isReasoning ? { reasoning: buffered, reply: '' } : { reasoning: '', reply: buffered };
  }

  #is(state: State): boolean {
    return this.#state === state;
  }

  #readStart(): void {
    const [tag, name = ''] = startTag.exec(this.#buffer) ?? [];
    if (tag !== undefined) {
      this.#state = 'reasoning';
      this.#endTag = `</${name.toLowerCase()}>`;
      this.#buffer = this.#buffer.slice(tag.length);
    } else if (!startOfStartTag.test(this.#buffer)) this.#state = 'reply';
  }

  #readReasoning(): string {
    const end = this.#buffer.toLowerCase().indexOf(this.#endTag);
    const known = end >= 0 ? end : Math.max(this.#buffer.length - this.#endTag.length + 1, 0);
    const reasoning = this.#buffer.slice(0, known);
    this.#buffer = this.#buffer.slice(end >= 0 ? end + this.#endTag.length : known);
    if (end >= 0) this.#state = 'blanks';
    return reasoning;
  }

  #readBlanks(): void {
    this.#buffer = this.#buffer.trimStart();
    if (this.#buffer !== '') this.#state = 'reply';
  }

  #takeBuffer(): string {
    const buffered = this.#buffer;
    this.#buffer = '';
    return buffered;
  }
}
