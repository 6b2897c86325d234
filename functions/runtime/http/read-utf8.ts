/** Decodes UTF-8 and removes a leading byte order mark, unless it is kept. Undefined if the bytes are not valid UTF-8. */
export function readUtf8(bytes: Uint8Array, { retainsMark = false } = {}): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: retainsMark }).decode(bytes);
  } catch {
    return undefined;
  }
}
