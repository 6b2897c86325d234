import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

interface PresignedRequest {
  readonly method: string;
  /** Path and query, as sent. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
}

export const isPresigned = ({ url }: Pick<PresignedRequest, 'url'>): boolean =>
  /[?&]X-Amz-Algorithm=/.test(url);

/** Whether a presigned address (AWS's signature 4, of which the engine only looks at the time) is as its maker made it. */
export function isAsSigned({ method, url, headers }: PresignedRequest, secretAccessKey: string): boolean {
  const [path = '', search = ''] = url.split(/\?(.*)/s);
  const query = [...new URLSearchParams(search)];
  const parameter = (wanted: string): string => query.find(([name]) => name === wanted)?.[1] ?? '';
  const [, ...scope] = parameter('X-Amz-Credential').split('/');
  const signedHeaders = parameter('X-Amz-SignedHeaders');
  const canonicalRequest = [
    method,
    path,
    query
      .filter(([name]) => name !== 'X-Amz-Signature')
      .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
      .toSorted()
      .join('&'),
    ...signedHeaders.split(';').map((name) => `${name}:${String(headers[name] ?? '').trim()}`),
    '',
    signedHeaders,
    'UNSIGNED-PAYLOAD',
  ].join('\n');
  const toSign = [
    'AWS4-HMAC-SHA256',
    parameter('X-Amz-Date'),
    scope.join('/'),
    createHash('sha256').update(canonicalRequest).digest('hex'),
  ].join('\n');
  const key = scope.reduce<string | Buffer>(hmac, `AWS4${secretAccessKey}`);
  const expected = hmac(key, toSign);
  const given = Buffer.from(parameter('X-Amz-Signature'), 'hex');
  return given.length === expected.length && timingSafeEqual(given, expected);
}

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/** As RFC 3986 has it: the one way to write a text that signatures know. */
const encoded = (text: string): string =>
  encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
