/**
 * Whether URL parsers read an http or https URL as it is written. They repair other texts: they add slashes to
 * `https:/x` and `https:x`, turn backslashes into slashes, and remove or encode blanks and control characters.
 */
export const isHttpUrl = (text: string): boolean =>
  /^https?:\/\/[^\s\p{Cc}\\/?#][^\s\p{Cc}\\]*$/iu.test(text) && URL.canParse(text);

export const httpUrlForm = 'https://HOST, without blanks and backslashes';
