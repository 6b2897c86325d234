import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import type { OutboundFailureKind } from '#domain/platform/failures.ts';
import type { Override } from './scripted-mcp.ts';

const spaces = Buffer.alloc(50_000_000, 0x20);
const bombs = {
  gzip: gzipSync(spaces),
  br: brotliCompressSync(spaces, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
};

type Response = Parameters<Override>[1];

const json = (response: Response, text: string | Buffer, headers: object = {}) =>
  Boolean(response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(text));
const responds =
  (text: string | Buffer, headers?: object): Override =>
  (_request, response) =>
    json(response, text, headers);
const resultWith = (id: unknown, result: string) =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`;
const returns =
  (result: string, headers?: object): Override =>
  (_request, response, id) =>
    json(response, resultWith(id, result), headers);
const contents = (content: string) => `{"resultType":"complete","content":${content}}`;
const many = (count: number) => contents(`[${Array(count).fill('{"type":"text","text":"x"}').join()}]`);
const levels = (count: number) => '['.repeat(count) + ']'.repeat(count);
const forever = (response: Response, chunk: string, every = 0, type = 'text/event-stream') => {
  response.writeHead(200, { 'content-type': type });
  const timer = setInterval(() => response.write(chunk), every);
  response.once('close', () => clearInterval(timer));
  return true;
};
const endless =
  (chunk: string): Override =>
  (_request, response) =>
    forever(response, chunk);
const notification = `data: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress' })}\n\n`;
const ping = `data: ${JSON.stringify({ jsonrpc: '2.0', id: 's', method: 'ping' })}\n\n`;

/** Servers of MCP that do harm, each with the kind of the failure that a call has. */
export const hostileEndpoints: [what: string, kind: OutboundFailureKind, Override][] = [
  ['silence', 'timeout', () => true],
  [
    'a head without an end',
    'timeout',
    (_request, response) => Boolean(response.socket?.write('HTTP/1.1 200 OK\r\nX-A: ')),
  ],
  ['a byte a second', 'timeout', (_request, response) => forever(response, ' ', 1000, 'application/json')],
  ['an endless stream of comments', 'too-large', endless(`:${'x'.repeat(60_000)}\n\n`)],
  ['an endless stream of notifications', 'too-large', endless(notification.repeat(500))],
  [
    'an endless line',
    'too-large',
    (_request, response) => {
      const isOpen = forever(response, 'x'.repeat(60_000));
      response.write('data: ');
      return isOpen;
    },
  ],
  [
    'requests without end',
    'protocol',
    (request, response) =>
      request.method === undefined ? Boolean(response.writeHead(202).end()) : forever(response, ping, 5),
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
  ['a gzip bomb', 'too-large', responds(bombs.gzip, { 'content-encoding': 'gzip' })],
  ['a brotli bomb', 'too-large', responds(bombs.br, { 'content-encoding': 'br' })],
  ['20,000 levels', 'protocol', returns(levels(20_000))],
  ['65 levels', 'protocol', returns(levels(65))],
  ['50,000 contents', 'protocol', returns(many(50_000))],
  ['201 contents', 'protocol', returns(many(201))],
  ['an unknown content', 'protocol', returns(contents('[{"type":"html"}]'))],
  ['a wrong id', 'protocol', responds(resultWith('other', contents('[]')))],
  ['no JSON', 'protocol', responds('<html>')],
  ['HTML', 'protocol', responds('<html>', { 'content-type': 'text/html' })],
  ['a session id of 20 KB', 'protocol', returns('{}', { 'mcp-session-id': 'x'.repeat(20_000) })],
  ['40 KB of headers', 'too-large', returns('{}', { 'x-a': 'x'.repeat(40_000) })],
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
