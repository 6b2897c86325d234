import { createHash, timingSafeEqual } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname, join, relative } from 'node:path';
import { isOwnHost } from '../wire/reject-pages.ts';

/**
 * Static files that a run serves at its port, next to the routes of the template, and calls that the pages among them
 * may make.
 */
export interface Site {
  /** The folder at `/`: its HTML, CSS, JavaScript and SVG files. `/` is its `index.html`. */
  readonly folder: string;
  /** Paths of further files, by their path in the URL, such as `/openapi.json`. */
  readonly files?: Readonly<Record<string, string>>;
  readonly calls?: SiteCalls;
}

const contentTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
};

/** Only files with these extensions are served from the folder. Others, such as a tsconfig.json, are not. */
const folderTypes = new Set(['.html', '.css', '.js', '.svg']);

const headers = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  // Pages of other origins cannot embed the files either.
  'Cross-Origin-Resource-Policy': 'same-origin',
  // A page of another origin that opened the site has no handle of its tab, and cannot change its address.
  'Cross-Origin-Opener-Policy': 'same-origin',
  // A changed file applies to the next load. Loopback needs no cache.
  'Cache-Control': 'no-store',
};

/** Sends a response if the request is for the site. Returns false if it is not. */
export type ServeSite = (request: IncomingMessage, response: ServerResponse) => boolean;

/** Makes a function that serves the site. The files are listed once, and a request finds its file by the exact path. */
export async function openSite(site: Site | undefined): Promise<ServeSite> {
  if (site === undefined) return () => false;
  const files = await filesByPath(site);
  return (request, response) => {
    const name = callNameOf(request);
    if (site.calls !== undefined && name !== undefined) {
      serveCall(site.calls, name, request).then(
        ({ status, body }) =>
          response
            .writeHead(status, { ...headers, 'Content-Type': 'application/json' })
            .end(JSON.stringify(body)),
        // The client has gone before it has sent its body.
        () => response.destroy(),
      );
      return true;
    }
    const [path = ''] = (request.url ?? '').split('?');
    const file = files.get(path);
    if (file === undefined || (request.method !== 'GET' && request.method !== 'HEAD')) return false;
    // A page elsewhere may give its own host name this machine's address (DNS rebinding), so the host is checked.
    if (isOwnHost(request.headers.host)) void send(file, response);
    else reject(response, 403, 'This site is only served as 127.0.0.1 or localhost.');
    return true;
  };
}

async function filesByPath({ folder, files = {} }: Site): Promise<Map<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile() && folderTypes.has(extname(entry.name)))
    .map((entry) => join(entry.parentPath, entry.name))
    .map((file) => [`/${relative(folder, file)}`, file] as const);
  return new Map([['/', join(folder, 'index.html')], ...paths, ...Object.entries(files)]);
}

async function send(file: string, response: ServerResponse): Promise<void> {
  const content = await readFile(file).catch(() => undefined);
  if (content === undefined) return void reject(response, 404, 'The file is gone.');
  const type = contentTypes[extname(file)] ?? 'application/octet-stream';
  response
    .writeHead(200, { ...headers, 'Content-Type': type, 'Content-Length': content.length })
    .end(content);
}

function reject(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { ...headers, 'Content-Type': 'text/plain; charset=utf-8' }).end(`${text}\n`);
}

/** What the pages of a site may do besides the routes of the template: `POST /operator/NAME`, with JSON. */
export interface SiteCalls {
  /** The value of the header `x-operator-token`. Only the person who started the run may know it. */
  readonly token: string;
  /** Never rejects. */
  call(name: string, input: unknown): Promise<CallResult>;
}

export interface CallResult {
  readonly status: number;
  readonly body: object;
}

/** More than twice the size that an agent may have. */
const mostBytes = 1024 * 1024;

const path = /^\/operator\/([a-z-]+)$/;

/** The name of the call that a request makes; undefined for any other request. */
const callNameOf = ({ method, url = '' }: IncomingMessage): string | undefined =>
  method === 'POST' ? path.exec(url)?.[1] : undefined;

/**
 * Makes a call for a page of the site itself, and for no other page: a page of another origin does not know the token,
 * sends its own `Origin`, and must send a preflight request before it sends JSON. With DNS rebinding, its `Origin` is
 * the host that it has given this machine's address, so the host must be this machine's.
 */
async function serveCall(
  { token, call }: SiteCalls,
  name: string,
  request: IncomingMessage,
): Promise<CallResult> {
  const { host = '', origin, 'content-type': type = '', 'x-operator-token': sent } = request.headers;
  // A client may read the response only after it has sent its whole body.
  const text = await readText(request);
  if (!isOwnHost(host)) return rejected(403, 'This is only served as 127.0.0.1 or localhost.');
  if (origin !== `http://${host}`) return rejected(403, 'Only pages of this address may call this.');
  if (!/^application\/json *(;|$)/i.test(type)) return rejected(415, 'Send Content-Type: application/json.');
  if (typeof sent !== 'string' || !isEqual(sent, token))
    return rejected(
      401,
      'Open the address that npm start has printed last: this page has no token of the run.',
    );
  if (text === undefined) return rejected(413, `At most ${mostBytes} bytes are read.`);
  let input: unknown;
  try {
    input = JSON.parse(text);
  } catch {
    return rejected(400, 'The body is no JSON.');
  }
  return call(name, input);
}

const rejected = (status: number, error: string): CallResult => ({ status, body: { errors: [error] } });

/** Reads a body to its end. Returns undefined if it has more than `mostBytes`. */
async function readText(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= mostBytes) chunks.push(chunk);
  }
  return bytes > mostBytes ? undefined : Buffer.concat(chunks).toString();
}

/** Compares in a time that does not depend on how much of the token is right. */
const isEqual = (sent: string, token: string): boolean => timingSafeEqual(digestOf(sent), digestOf(token));

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest();
