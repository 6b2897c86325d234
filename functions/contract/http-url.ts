/**
 * Whether URL parsers read an http or https URL as it is written. They repair other texts: they add slashes to
 * `https:/x` and `https:x`, turn backslashes into slashes, and remove or encode blanks and control characters.
 */
export const isHttpUrl = (text: string): boolean =>
  /^https?:\/\/[^\s\p{Cc}\\/?#][^\s\p{Cc}\\]*$/iu.test(text) && URL.canParse(text);

/** Exactly these, and no name: a name may have another address a moment later. */
const loopbackHosts: ReadonlySet<string> = new Set(['127.0.0.1', '[::1]']);

export function isPlainLoopbackUrl(text: string): boolean {
  const url = URL.parse(text);
  return url?.protocol === 'http:' && loopbackHosts.has(url.hostname);
}

export const httpUrlForm = 'https://HOST, without blanks and backslashes';
