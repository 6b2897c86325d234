import * as z from 'zod';

/** An entry of an allow list: a host with one port or every port. */
export interface HostAndPort {
  /** In the normalized form of URLs: lower case, IPv6 addresses in brackets. */
  host: string;
  port: number | '*';
}

/** A host name, an IPv4 address, or an IPv6 address in brackets; then a port, or `*` for every port. */
const pattern = /^(\[[\da-f:.]+\]|[^\s:/?#@[\]\\%]+):(\d{1,5}|\*)$/i;

export const hostAndPortForm = 'HOST:PORT, such as 127.0.0.1:8080, [::1]:8080 or wiki.internal:443';

/** Undefined if the text does not have the form HOST:PORT. */
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
