import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';

/** The most bytes of UTF-8 that one model call may return. */
export interface ByteBounds {
  text: number;
  /** Bytes of reasoning and of tool arguments: both are buffered in memory during the call. */
  other: number;
}

/**
 * The stream of a model call, up to its bounds. Text is cut between two characters. Nothing is read past the bounds:
 * the end of `parts` also closes the model's connection.
 */
export function withinBytes(
  stream: AsyncIterable<LanguageModelV4StreamPart>,
  bounds: ByteBounds,
): { parts: AsyncIterable<LanguageModelV4StreamPart>; wasCut: () => boolean } {
  const remaining = { ...bounds };
  let wasCut = false;
  const upToBounds = (part: LanguageModelV4StreamPart): LanguageModelV4StreamPart | undefined => {
    if (!('delta' in part) || typeof part.delta !== 'string') return part;
    const kind = part.type === 'text-delta' ? 'text' : 'other';
    const bytes = Buffer.from(part.delta);
    wasCut = bytes.length > remaining[kind];
    if (wasCut)
      return part.type === 'text-delta'
        ? { ...part, delta: wholeCharacters(bytes.subarray(0, remaining.text)) }
        : undefined;
    remaining[kind] -= bytes.length;
    return part;
  };
  async function* parts(): AsyncGenerator<LanguageModelV4StreamPart> {
    for await (const part of stream) {
      const fitting = upToBounds(part);
      if (fitting !== undefined) yield fitting;
      if (wasCut) return;
    }
  }
  return { parts: parts(), wasCut: () => wasCut };
}

/** Drops an incomplete character at the end. */
const wholeCharacters = (bytes: Uint8Array): string =>
  new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true });
