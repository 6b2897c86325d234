import { isIP } from 'node:net';
import * as z from 'zod';
import { parseHostAndPort } from '#contract/host-and-port.ts';

/** A host in the form of URLs, or `*.` and a domain for all its subdomains. Undefined if the text is neither. */
function parseHostPattern(text: string): string | undefined {
  const isWildcard = text.startsWith('*.');
  const name = isWildcard ? text.slice(2) : text;
  const host = name.includes('*') ? undefined : parseHostAndPort(`${name}:*`)?.host;
  if (host === undefined || host === '') return undefined;
  if (!isWildcard) return host;
  return isIP(host) !== 0 || host.startsWith('[') ? undefined : `*.${host}`;
}

export const hostPattern = z.string().transform((text, context): string => {
  const pattern = parseHostPattern(text);
  if (pattern !== undefined) return pattern;
  context.addIssue({
    code: 'custom',
    message: 'must be a host name without scheme, port and path, such as docs.example.com or *.example.com',
  });
  return z.NEVER;
});
