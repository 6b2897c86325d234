import { createHash, timingSafeEqual } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname, join, relative } from 'node:path';
import { isOwnHost } from '../wire/reject-pages.ts';

export interface Site {
  /** Its `index.html` is at `/`. */
  readonly folder: string;
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

/** Others, such as a tsconfig.json, are not served from the folder. */
const folderTypes = new Set(['.html', '.css', '.js', '.svg']);

const headers = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  // Pages of other origins cannot embed the files.
  'Cross-Origin-Resource-Policy': 'same-origin',
  // A page of another origin that opened the site has no handle of its tab.
  'Cross-Origin-Opener-Policy': 'same-origin',
  // A changed file applies to the next load. Loopback needs no cache.
  'Cache-Control': 'no-store',
};

/** Returns false, and sends nothing, if the request is not for the site. */
export type ServeSite = (request: IncomingMessage, response: ServerResponse) => boolean;

/** The files are listed once, and a request finds its file by the exact path. */
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
        // The body has not arrived in full.
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

export interface SiteCalls {
  /** The value of the header `x-operator-token`. Only the person who started the run may know it. */
  readonly token: string;
  /** Must not reject. */
  call(name: string, input: unknown): Promise<CallResult>;
}

export interface CallResult {
  readonly status: number;
  readonly body: object;
}

/** More than twice the size that an agent may have. */
const mostBytes = 1024 * 1024;

const path = /^\/operator\/([a-z-]+)$/;

const callNameOf = ({ method, url = '' }: IncomingMessage): string | undefined =>
  method === 'POST' ? path.exec(url)?.[1] : undefined;

/**
 * Of pages, only those of the site itself may call: `Origin` and Content-Type are checked because of pages of other
 * origins, the host because of DNS rebinding.
 */
async function serveCall(
  { token, call }: SiteCalls,
  name: string,
  request: IncomingMessage,
): Promise<CallResult> {
  const { host = '', origin, 'content-type': type = '', 'x-operator-token': sent } = request.headers;
  // Some clients read the response only after they have sent the whole body.
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

/** Undefined if the body has more than `mostBytes`. */
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
