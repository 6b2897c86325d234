/** Texts for a path segment or a query parameter. */
export const hostileTexts: readonly string[] = [
  ...['', ' ', '0', '-0', '-1', '1', '01', '+1', '1.0', '1e3', '0x1', '9007199254740991', '9007199254740992'],
  '9999999999999999',
  '99999999999999999999',
  'NaN',
  'Infinity',
  'null',
  'undefined',
  'true',
  '[object Object]',
  '\u0000',
  '1\u0000',
  '\u0661',
  '\uff11',
  '1 ',
  ' 1',
  '1\n',
  '1,2',
  '1;2',
  '__proto__',
  'constructor',
  'toString',
  '..',
  '../..',
  '../../batches',
  '%2e%2e',
  '%00',
  '%',
  '%zz',
  'a/b',
  'a\\b',
  'a?b',
  'a#b',
  'a&b=c',
  '*',
  '$',
  '\u202e',
  '00000000-0000-4000-8000-000000000000',
  'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF',
  '{chat_id}',
  'published-agents',
  'created_at',
  '-created_at',
  'CREATED_AT',
  'asc,desc',
  'in_progress',
  'failed',
  "' OR 1=1 --",
  '\u{1f600}',
];
export const longTexts: readonly (() => string)[] = [
  () => '1'.repeat(1000),
  () => '\u{1f600}'.repeat(256),
  () => '\u{1f600}'.repeat(257),
  () => 'x'.repeat(9000),
  () => 'x'.repeat(12_000),
  () => 'x'.repeat(60_000),
];

/** Whole query strings about one parameter. */
export const hostileQueries = (key: string): string[] => {
  const name = encodeURIComponent(key);
  return [
    `${name}=1&${name}=2`,
    `${name}[]=1&${name}[]=2`,
    `${name}[a]=1`,
    `${name}`,
    `=${name}`,
    '&&&',
    `${name}=%`,
    `${name}=%zz`,
    `${name}=%E0%A4%A`,
    `${name}=%ED%A0%80`,
    `${name}=%ff`,
    `${name}=%00`,
    `${name}==&=`,
    `${name}=1;${name}=2`,
    `${name}=+`,
    `?${name}=1`,
    '__proto__=1&__proto__=2',
    '__proto__[x]=1',
    'constructor=1&hasOwnProperty=2',
    Array.from({ length: 500 }, (_, index) => `k${index}=1`).join('&'),
    `${name}=1`.concat(`&${name}=1`.repeat(800)),
  ];
};

type Headers = [what: string, headers: [string, string][]];

const several = (what: string, ...headers: [string, string][]): Headers => [what, headers];

export const hostileHeaders = (apiKey: string): Headers[] => [
  ...hostileKeys(apiKey),
  ...hostileValues,
  ...connectionHeaders,
];

const hostileKeys = (apiKey: string): Headers[] => [
  ...[
    '',
    ' ',
    'wrong',
    `${apiKey}x`,
    apiKey.slice(0, -1),
    apiKey.toLowerCase(),
    `Bearer ${apiKey}`,
    `${apiKey},${apiKey}`,
    'ak_',
    'ak_\xff\xfe',
    "' OR ''='",
    '__proto__',
    `${apiKey}\t`,
    'x'.repeat(5000),
  ].map((value): Headers => [`key ${value.slice(0, 20)}`, [['x-api-key', value]]]),
  several('two keys', ['x-api-key', apiKey], ['X-Api-Key', 'wrong']),
  several('two keys, the wrong one first', ['x-api-key', 'wrong'], ['x-api-key', apiKey]),
  ['another spelling', [['X-API-KEY', apiKey]]],
];

/** Headers with names that the service does not know, and headers with values that do not fit their names. */
const hostileValues: readonly Headers[] = [
  ['__proto__', [['__proto__', 'x']]],
  several('constructor', ['constructor', 'x'], ['toString', 'y'], ['hasOwnProperty', 'z']),
  ...['', 'x', 'a'.repeat(300), '\xc3\xa9', '\xff', 'a,b'].map(
    (value): Headers => [`x-external-user-id ${value.slice(0, 9)}`, [['x-external-user-id', value]]],
  ),
  several('two users', ['x-external-user-id', 'a'], ['x-external-user-id', 'b']),
  several('x-forwarded-host', ['x-forwarded-host', 'evil.example'], ['x-origin-secret', 'guess']),
  ['x-forwarded-proto', [['x-forwarded-proto', 'gopher://x y']]],
  ['x-forwarded-for', [['x-forwarded-for', '127.0.0.1, , <x>']]],
  ...['evil.example', 'evil.example:99999', '[::1', 'a b', '', '@', 'a/b?c#d', '\xe9', '[::1]:80'].map(
    (value): Headers => [`Host ${value}`, [['Host', value]]],
  ),
  ...['text/event-stream', 'application/xml', '*/*;q=0', 'multipart/form-data', ','].map(
    (value): Headers => [`Accept ${value}`, [['Accept', value]]],
  ),
  ['Accept-Encoding', [['Accept-Encoding', 'gzip, br, zstd, identity;q=0']]],
];

/** Headers by which servers and proxies change how they process a request. */
const connectionHeaders: readonly Headers[] = [
  ['Expect', [['Expect', '100-continue']]],
  ['Expect of something else', [['Expect', '200-ok']]],
  several('Upgrade', ['Connection', 'Upgrade, close'], ['Upgrade', 'websocket'], ['Sec-WebSocket-Key', 'x']),
  several(
    'HTTP/2 by upgrade',
    ['Connection', 'Upgrade, HTTP2-Settings, close'],
    ['Upgrade', 'h2c'],
    ['HTTP2-Settings', ''],
  ),
  ['Range', [['Range', 'bytes=0-1,5-']]],
  several('conditions', ['If-None-Match', '*'], ['If-Modified-Since', 'never']),
  ['Authorization', [['Authorization', 'Bearer x']]],
  several('method override', ['X-HTTP-Method-Override', 'DELETE'], ['X-HTTP-Method', 'DELETE']),
  several('rewritten', ['X-Original-URL', '/api/v1/batches'], ['X-Rewrite-URL', '/']),
  ['trace id', [['X-Amzn-Trace-Id', 'Root=\xff;Parent=x']]],
  ['Cookie', [['Cookie', '__proto__=1; =; ;']]],
  several('Transfer-Encoding, twice', ['TE', 'trailers, deflate'], ['Trailer', 'x-api-key']),
  several('request id', ['x-request-id', 'mine'], ['x-amzn-requestid', 'mine']),
];

export const longHeaders: readonly (() => Headers)[] = [
  () => ['9 KB', [['x-long', 'x'.repeat(9 * 1024)]]],
  () => ['11 KB', [['x-long', 'x'.repeat(11 * 1024)]]],
  () => ['40 KB', [['x-long', 'x'.repeat(40 * 1024)]]],
  () => ['400 of them', Array.from({ length: 400 }, (_, index): [string, string] => [`x-h${index}`, 'x'])],
  () => ['900 of them', Array.from({ length: 900 }, (_, index): [string, string] => [`x-h${index}`, ''])],
];

/** All methods that CloudFront forwards. */
export const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** Other ways to write a path, and texts that only resemble it. */
export const hostilePaths = (target: string): string[] => [
  target.toUpperCase(),
  `${target}/`,
  `${target}//`,
  `/${target}`,
  target.replace(/\/([^/]*)$/, '//$1'),
  target.replace(/\/([^/]*)$/, '/./$1'),
  target.replace(/\/([^/]*)$/, '/x/../$1'),
  target.replace(/\/([^/]*)$/, '/%2e%2e/$1'),
  target.replace(/\/([^/]*)$/, '%2F$1'),
  target.replace(/\/([^/]*)$/, '\\$1'),
  target.replace('c', '%63'),
  target.replace('c', '%'),
  target.replace('c', '%c3'),
  `${target}%00`,
  `${target};a=b`,
  `${target}#x`,
  `${target}.json`,
  `${target}/__proto__`,
  `${target}/%E0%A4%A`,
  `${target}/${'x'.repeat(3000)}`,
  `${target}/${'x'.repeat(20_000)}`,
  `${target}${'/a'.repeat(1500)}`,
  `${target}${'?'.repeat(50)}`,
  '',
  '/',
  '/..',
  '/../../..',
  '/%2e%2e/%2e%2e/',
  '/constructor',
  '/__proto__',
];

/** Headers that break HTTP. With `ends`, the client closes its side of the connection after them. */
export const brokenHttp: [what: string, headers: [string, string][], ends?: true][] = [
  ['a length of less', [['Content-Length', '1']], true],
  ['a length of more', [['Content-Length', '999999']], true],
  ['a length below nothing', [['Content-Length', '-1']]],
  ['a length in words', [['Content-Length', 'ten']]],
  ['a length of 1e18', [['Content-Length', '1000000000000000000']], true],
  several('two lengths', ['Content-Length', '3'], ['Content-Length', '4']),
  several('length and chunks', ['Content-Length', '3'], ['Transfer-Encoding', 'chunked']),
  ['chunks that are none', [['Transfer-Encoding', 'chunked']], true],
  ['an unknown coding', [['Transfer-Encoding', 'gzip']], true],
  ['a name with a space', [['x y', 'z']]],
  ['a name with a NUL', [['x\0y', 'z']]],
  ['a value with a control character', [['x-external-user-id', '\u0001']]],
  ['a value with a NUL', [['x-nul', 'a\0b']]],
  ['a value with a line feed', [['x-line', 'a\nb']]],
  ['a value with a return', [['x-line', 'a\rb']]],
  ['no name', [['', 'z']]],
  ['3,000 headers', Array.from({ length: 3000 }, (_, index): [string, string] => [`x-h${index}`, ''])],
  ['headers of 300 KB', [['x-long', 'x'.repeat(300 * 1024)]]],
];
