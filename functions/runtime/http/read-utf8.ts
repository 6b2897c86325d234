/** The text of these bytes, without a byte order mark at its beginning; undefined when they are not UTF-8. */
export function readUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
