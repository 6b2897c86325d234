import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import type { OutboundFailureKind } from '#domain/platform/failures.ts';
import type { Override } from './scripted-mcp.ts';

const spaces = Buffer.alloc(50_000_000, 0x20);
const bombs = {
  gzip: gzipSync(spaces),
  br: brotliCompressSync(spaces, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
};

const json = (response: Parameters<Override>[1], text: string | Buffer, headers: object = {}) =>
  Boolean(response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(text));
const resultWith = (id: unknown, result: string) =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`;
const many = (count: number) => `[${Array(count).fill('{"type":"text","text":"x"}').join()}]`;
const forever = (response: Parameters<Override>[1], chunk: string, every = 0) => {
  const timer = setInterval(() => response.write(chunk), every);
  response.once('close', () => clearInterval(timer));
  return true;
};

/** Servers of MCP that do harm, each with the kind of the failure that a call has. */
export const hostileEndpoints: [what: string, kind: OutboundFailureKind, Override][] = [
  ['silence', 'timeout', () => true],
  [
    'a head without an end',
    'timeout',
    (_request, response) => Boolean(response.socket?.write('HTTP/1.1 200 OK\r\nX-A: ')),
  ],
  [
    'a byte a second',
    'timeout',
    (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      return forever(response, ' ', 1000);
    },
  ],
  [
    'an endless stream of comments',
    'too-large',
    (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      return forever(response, `:${'x'.repeat(60_000)}\n\n`);
    },
  ],
  [
    'an endless stream of notifications',
    'too-large',
    (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const event = `data: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress' })}\n\n`;
      return forever(response, event.repeat(500));
    },
  ],
  [
    'an endless line',
    'too-large',
    (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: ');
      return forever(response, 'x'.repeat(60_000));
    },
  ],
  [
    'requests without end',
    'protocol',
    (request, response) => {
      if (request.method === undefined) return Boolean(response.writeHead(202).end());
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      return forever(response, `data: ${JSON.stringify({ jsonrpc: '2.0', id: 's', method: 'ping' })}\n\n`, 5);
    },
  ],
  [
    'streams that end without end',
    'protocol',
    (_request, response) =>
      Boolean(
        response
          .writeHead(200, { 'content-type': 'text/event-stream' })
          .end(`id: ${Math.random()}\nretry: 1\ndata:\n\n`),
      ),
  ],
  ['100 MB', 'too-large', (_request, response) => json(response, Buffer.alloc(100_000_000, 0x20))],
  [
    'a gzip bomb',
    'too-large',
    (_request, response) => json(response, bombs.gzip, { 'content-encoding': 'gzip' }),
  ],
  [
    'a brotli bomb',
    'too-large',
    (_request, response) => json(response, bombs.br, { 'content-encoding': 'br' }),
  ],
  [
    '20,000 levels',
    'protocol',
    (_request, response, id) => json(response, resultWith(id, '['.repeat(20_000) + ']'.repeat(20_000))),
  ],
  [
    '65 levels',
    'protocol',
    (_request, response, id) => json(response, resultWith(id, '['.repeat(65) + ']'.repeat(65))),
  ],
  [
    '50,000 contents',
    'protocol',
    (_request, response, id) =>
      json(response, resultWith(id, `{"resultType":"complete","content":${many(50_000)}}`)),
  ],
  [
    '201 contents',
    'protocol',
    (_request, response, id) =>
      json(response, resultWith(id, `{"resultType":"complete","content":${many(201)}}`)),
  ],
  [
    'an unknown content',
    'protocol',
    (_request, response, id) =>
      json(response, resultWith(id, '{"resultType":"complete","content":[{"type":"html"}]}')),
  ],
  [
    'a wrong id',
    'protocol',
    (_request, response) => json(response, resultWith('other', '{"resultType":"complete","content":[]}')),
  ],
  ['no JSON', 'protocol', (_request, response) => json(response, '<html>')],
  [
    'HTML',
    'protocol',
    (_request, response) => Boolean(response.writeHead(200, { 'content-type': 'text/html' }).end('<html>')),
  ],
  [
    'a session id of 20 KB',
    'protocol',
    (_request, response, id) =>
      json(response, resultWith(id, '{}'), { 'mcp-session-id': 'x'.repeat(20_000) }),
  ],
  [
    '40 KB of headers',
    'too-large',
    (_request, response, id) => json(response, resultWith(id, '{}'), { 'x-a': 'x'.repeat(40_000) }),
  ],
  [
    'a redirect',
    'redirects',
    (_request, response) => Boolean(response.writeHead(307, { location: 'http://169.254.169.254/' }).end()),
  ],
  [
    'a cut body',
    'unreachable',
    (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
      response.write('{');
      setTimeout(() => response.destroy(), 50);
      return true;
    },
  ],
];
