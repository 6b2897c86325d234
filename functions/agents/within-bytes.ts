import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';

/** Bytes of UTF-8 that one call of a model may say. */
export interface ByteBounds {
  text: number;
  /** Of what it thinks and of the arguments that it gives tools, which stand in memory while it speaks. */
  other: number;
}

/**
 * What a model says, up to its bounds; its text is cut between two characters. Nothing is read beyond them, and whoever
 * reads this to its end has closed the model's connection.
 */
export function withinBytes(
  stream: AsyncIterable<LanguageModelV4StreamPart>,
  bounds: ByteBounds,
): { parts: AsyncIterable<LanguageModelV4StreamPart>; wasCut: () => boolean } {
  const left = { ...bounds };
  let wasCut = false;
  async function* parts(): AsyncGenerator<LanguageModelV4StreamPart> {
    for await (const part of stream) {
      if ('delta' in part && typeof part.delta === 'string') {
        const kind = part.type === 'text-delta' ? 'text' : 'other';
        const bytes = Buffer.from(part.delta);
        wasCut = bytes.length > left[kind];
        if (wasCut && part.type === 'text-delta')
          yield { ...part, delta: wholeCharacters(bytes.subarray(0, left.text)) };
        if (wasCut) return;
        left[kind] -= bytes.length;
      }
      yield part;
    }
  }
  return { parts: parts(), wasCut: () => wasCut };
}

/** A character that its bytes only begin is left out. */
const wholeCharacters = (bytes: Uint8Array): string =>
  new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true });
