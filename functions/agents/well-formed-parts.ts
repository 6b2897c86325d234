import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { wellFormed } from '#domain/platform/well-formed.ts';

type Delta = Extract<LanguageModelV4StreamPart, { type: 'text-delta' | 'reasoning-delta' }>;

/**
 * Makes the text of a model's stream valid Unicode. Providers may split a surrogate pair between two deltas: the first
 * half is buffered until the next delta of its block, and becomes U+FFFD if the second half does not come.
 */
export async function* wellFormedParts(
  stream: AsyncIterable<LanguageModelV4StreamPart>,
): AsyncGenerator<LanguageModelV4StreamPart> {
  const pending = new Map<string, Delta>();
  const joinPending = (part: Delta): Delta => {
    const key = blockOf(part);
    const text = (pending.get(key)?.delta ?? '') + part.delta;
    const isHalf = /[\ud800-\udbff]$/.test(text);
    if (isHalf) pending.set(key, { ...part, delta: text.slice(-1) });
    else pending.delete(key);
    return { ...part, delta: (isHalf ? text.slice(0, -1) : text).toWellFormed() };
  };
  const flushPending = (): Delta[] => {
    const deltas = [...pending.values()].map((part) => ({ ...part, delta: part.delta.toWellFormed() }));
    pending.clear();
    return deltas;
  };
  try {
    for await (const part of stream)
      switch (part.type) {
        case 'text-delta':
        case 'reasoning-delta':
          yield joinPending(part);
          break;
        case 'text-end':
        case 'reasoning-end':
        case 'finish':
          yield* flushPending();
          yield part;
          break;
        case 'tool-call':
          yield wellFormed(part);
          break;
        default:
          yield part;
      }
  } catch (error) {
    yield* flushPending();
    throw error;
  }
}

const blockOf = ({ type, id }: Delta): string => `${type} ${id}`;
