declare module 'dingbat-to-unicode' {
  /** The character of a font of symbols; `code` is hexadecimal. */
  export function hex(font: string, code: string): { string: string } | undefined;
}
