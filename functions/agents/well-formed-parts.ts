import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { wellFormed } from '#domain/platform/well-formed.ts';

type Delta = Extract<LanguageModelV4StreamPart, { type: 'text-delta' | 'reasoning-delta' }>;

/**
 * What a model says as Unicode text. Providers cut where they like: the first half of a character at the end of a delta
 * waits for the next delta of its block, and becomes U+FFFD if the other half does not come.
 */
export async function* wellFormedParts(
  stream: AsyncIterable<LanguageModelV4StreamPart>,
): AsyncGenerator<LanguageModelV4StreamPart> {
  const waiting = new Map<string, Delta>();
  const withWaiting = (part: Delta): Delta => {
    const key = blockOf(part);
    const text = (waiting.get(key)?.delta ?? '') + part.delta;
    const isHalf = /[\ud800-\udbff]$/.test(text);
    if (isHalf) waiting.set(key, { ...part, delta: text.slice(-1) });
    else waiting.delete(key);
    return { ...part, delta: (isHalf ? text.slice(0, -1) : text).toWellFormed() };
  };
  const unpaired = (): Delta[] => {
    const deltas = [...waiting.values()].map((part) => ({ ...part, delta: part.delta.toWellFormed() }));
    waiting.clear();
    return deltas;
  };
  try {
    for await (const part of stream)
      switch (part.type) {
        case 'text-delta':
        case 'reasoning-delta':
          yield withWaiting(part);
          break;
        case 'text-end':
        case 'reasoning-end':
        case 'finish':
          yield* unpaired();
          yield part;
          break;
        case 'tool-call':
          yield wellFormed(part);
          break;
        default:
          yield part;
      }
  } catch (error) {
    yield* unpaired();
    throw error;
  }
}

const blockOf = ({ type, id }: Delta): string => `${type} ${id}`;
