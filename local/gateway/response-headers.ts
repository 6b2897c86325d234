import { validateHeaderName, validateHeaderValue } from 'node:http';

/** A buffered response cannot have `cookies`. */
export interface ProxyHead {
  readonly statusCode?: unknown;
  readonly headers?: Record<string, unknown> | null;
  readonly multiValueHeaders?: Record<string, unknown[]> | null;
  readonly cookies?: readonly unknown[] | null;
}

// API Gateway renames these headers of a response.
const REMAPPED = new Set([
  'connection',
  'content-length',
  'date',
  'host',
  'server',
  'transfer-encoding',
  'www-authenticate',
]);

/** Names and values, alternating. Undefined if one of them is invalid. */
export function responseHeaders(head: ProxyHead): string[] | undefined {
  const pairs: [string, unknown][] = [];
  const multiple = Object.entries(head.multiValueHeaders ?? {});
  const given = new Set(multiple.map(([name]) => name.toLowerCase()));
  for (const [name, value] of Object.entries(head.headers ?? {}))
    if (!given.has(name.toLowerCase())) pairs.push([name, value]);
  for (const [name, values] of multiple) {
    if (!Array.isArray(values)) return undefined;
    for (const value of values) pairs.push([name, value]);
  }
  for (const cookie of head.cookies ?? []) pairs.push(['Set-Cookie', cookie]);
  return pairs.every(([name, value]) => isHeader(name, value))
    ? pairs.flatMap(([name, value]) => [remapped(name), String(value)])
    : undefined;
}

function isHeader(name: string, value: unknown): boolean {
  if (!['string', 'number', 'boolean'].includes(typeof value)) return false;
  try {
    validateHeaderName(name);
    validateHeaderValue(name, String(value));
    return true;
  } catch {
    return false;
  }
}

/** Names and values, alternating, of what `writeHead` takes. */
export const flatHeaders = (headers: unknown): string[] =>
  (Array.isArray(headers) ? headers : Object.entries(headers ?? {}).flat()).map(String);

export const headerPairs = (rawHeaders: readonly string[]): [name: string, value: string][] =>
  rawHeaders.flatMap((name, index) => (index % 2 === 0 ? [[name, rawHeaders[index + 1] ?? '']] : []));

export const remapped = (name: string): string =>
  REMAPPED.has(name.toLowerCase()) ? `x-amzn-Remapped-${name.toLowerCase()}` : name;

export function responseStatus(head: ProxyHead): number | undefined {
  const status = Number(head.statusCode);
  return Number.isInteger(status) && status >= 200 && status <= 599 ? status : undefined;
}

export function isBinaryType(binaryMediaTypes: readonly string[], contentType: string | undefined): boolean {
  const type = (contentType ?? '').toLowerCase().split(';')[0]?.trim();
  const family = `${type?.split('/')[0]}/*`;
  return binaryMediaTypes.some((candidate) => ['*/*', type, family].includes(candidate.toLowerCase()));
}
