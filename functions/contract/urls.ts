import * as z from 'zod';

/** Stricter than URL parsers, which repair some texts. */
export const isHttpUrl = (text: string): boolean =>
  /^https?:\/\/[^\s\p{Cc}\\/?#][^\s\p{Cc}\\]*$/iu.test(text) && URL.canParse(text);

/** Addresses only: a name may resolve to another address a moment later. */
const loopbackHosts: ReadonlySet<string> = new Set(['127.0.0.1', '[::1]']);

export function isPlainLoopbackUrl(text: string): boolean {
  const url = URL.parse(text);
  return url?.protocol === 'http:' && loopbackHosts.has(url.hostname);
}

export const httpUrlForm = 'https://HOST, without blanks and backslashes';

export interface HostAndPort {
  /** In lower case; IPv6 addresses in brackets. */
  host: string;
  port: number | '*';
}

const pattern = /^(\[[\da-f:.]+\]|[^\s:/?#@[\]\\%]+):(\d{1,5}|\*)$/i;

export const hostAndPortForm = 'HOST:PORT, such as 127.0.0.1:8080, [::1]:8080 or wiki.internal:443';

export function parseHostAndPort(text: string): HostAndPort | undefined {
  const [, host = '', port = ''] = pattern.exec(text) ?? [];
  const url = host === '' ? null : URL.parse(`http://${host}`);
  if (url === null) return undefined;
  const number = Number(port);
  if (port !== '*' && (number < 1 || number > 65_535)) return undefined;
  return { host: url.hostname.replace(/\.$/, ''), port: port === '*' ? port : number };
}

export const hostAndPort = z.string().transform((text, context): HostAndPort => {
  const parsed = parseHostAndPort(text);
  if (parsed !== undefined) return parsed;
  context.addIssue({ code: 'custom', message: `must be ${hostAndPortForm}` });
  return z.NEVER;
});

/**
 * A crafted HTTP request could be valid in another protocol. The list is that of the Fetch standard
 * (https://fetch.spec.whatwg.org/#port-blocking).
 */
export const deniedPorts = [
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104,
  109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515,
  526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049,
  3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10_080,
] as const;
