import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

export interface SignedRequest {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
}

export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

const ALGORITHM = 'AWS4-HMAC-SHA256';

/** S3 signs the path without a second encoding, and takes the body's hash from a header. */
export type SigningStyle = 's3' | 'other';

export const isPresigned = ({ url }: Pick<SignedRequest, 'url'>): boolean => /[?&]X-Amz-Algorithm=/.test(url);

/** Ignores the expiry, which S3's emulator checks. */
export function hasValidUrlSignature(
  { method, url, headers }: SignedRequest,
  secretAccessKey: string,
): boolean {
  const [path = '', search = ''] = url.split(/\?(.*)/s);
  const query = [...new URLSearchParams(search)];
  const parameter = (wanted: string): string => query.find(([name]) => name === wanted)?.[1] ?? '';
  const [, ...scope] = parameter('X-Amz-Credential').split('/');
  const expected = signatureOf(
    {
      method,
      path,
      query: query.filter(([name]) => name !== 'X-Amz-Signature'),
      headers,
      signedHeaders: parameter('X-Amz-SignedHeaders'),
      bodyHash: 'UNSIGNED-PAYLOAD',
      date: parameter('X-Amz-Date'),
      scope,
    },
    secretAccessKey,
  );
  return isEqual(expected, parameter('X-Amz-Signature'));
}

export function hasValidSignature(
  { method, url, headers }: SignedRequest,
  body: string | Buffer,
  secretAccessKey: string,
  style: SigningStyle,
): boolean {
  const [, credential = '', signedHeaders = '', signature = ''] =
    /^AWS4-HMAC-SHA256 Credential=([^,\s]+),\s*SignedHeaders=([^,\s]+),\s*Signature=(\w+)$/.exec(
      headers.authorization ?? '',
    ) ?? [];
  const [path = '', search = ''] = url.split(/\?(.*)/s);
  const [, ...scope] = credential.split('/');
  const expected = signatureOf(
    {
      method,
      path: style === 's3' ? path : encoded(path).replaceAll('%2F', '/'),
      query: [...new URLSearchParams(search)],
      headers,
      signedHeaders,
      bodyHash: style === 's3' ? String(headers['x-amz-content-sha256'] ?? 'UNSIGNED-PAYLOAD') : sha256(body),
      date: String(headers['x-amz-date'] ?? ''),
      scope,
    },
    secretAccessKey,
  );
  return isEqual(expected, signature);
}

/**
 * For a path without a query and without characters to encode. Signs all headers: their names must be lower-case and
 * include `host` and `x-amz-date`.
 */
export function authorizationOf(
  { method, url, headers }: SignedRequest,
  body: string,
  { accessKeyId, secretAccessKey }: Credentials,
  scope: { readonly region: string; readonly service: string },
): string {
  const date = String(headers['x-amz-date']);
  const parts = [date.slice(0, 8), scope.region, scope.service, 'aws4_request'];
  const signedHeaders = Object.keys(headers).toSorted().join(';');
  const signature = signatureOf(
    { method, path: url, query: [], headers, signedHeaders, bodyHash: sha256(body), date, scope: parts },
    secretAccessKey,
  );
  return `${ALGORITHM} Credential=${[accessKeyId, ...parts].join('/')}, SignedHeaders=${signedHeaders}, Signature=${signature.toString('hex')}`;
}

interface Canonical {
  readonly method: string;
  readonly path: string;
  readonly query: readonly (readonly [name: string, value: string])[];
  readonly headers: IncomingHttpHeaders;
  readonly signedHeaders: string;
  readonly bodyHash: string;
  readonly date: string;
  readonly scope: readonly string[];
}

function signatureOf(request: Canonical, secretAccessKey: string): Buffer {
  const { method, path, query, headers, signedHeaders, bodyHash, date, scope } = request;
  const canonicalRequest = [
    method,
    path,
    query
      .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
      .toSorted()
      .join('&'),
    ...signedHeaders.split(';').map(
      (name) =>
        `${name}:${String(headers[name] ?? '')
          .trim()
          .replaceAll(/ +/g, ' ')}`,
    ),
    '',
    signedHeaders,
    bodyHash,
  ].join('\n');
  const toSign = [ALGORITHM, date, scope.join('/'), sha256(canonicalRequest)].join('\n');
  return hmac(signingKey(secretAccessKey, scope), toSign);
}

const signingKeys = new Map<string, Buffer>();
const signingKeysAtMost = 1000;

/** Cached, because a key takes four HMACs to derive. */
function signingKey(secretAccessKey: string, scope: readonly string[]): Buffer {
  const name = [secretAccessKey, ...scope].join('\n');
  const known = signingKeys.get(name);
  if (known !== undefined) return known;
  const [date = '', ...parts] = scope;
  const key = parts.reduce((derived, part) => hmac(derived, part), hmac(`AWS4${secretAccessKey}`, date));
  // A client may send any scope, so the number of keys is limited.
  if (signingKeys.size >= signingKeysAtMost) signingKeys.clear();
  signingKeys.set(name, key);
  return key;
}

function isEqual(expected: Buffer, hex: string): boolean {
  const given = Buffer.from(hex, 'hex');
  return given.length === expected.length && timingSafeEqual(given, expected);
}

const sha256 = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex');

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/** The encoding of RFC 3986, which signatures need. */
const encoded = (text: string): string =>
  encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
