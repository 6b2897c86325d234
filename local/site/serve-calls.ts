import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isOwnHost } from '../wire/reject-pages.ts';

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

/** More than an agent may have, twice. */
const mostBytes = 1024 * 1024;

const path = /^\/operator\/([a-z-]+)$/;

/** The name of the call that a request makes; undefined for any other request. */
export const callNameOf = ({ method, url = '' }: IncomingMessage): string | undefined =>
  method === 'POST' ? path.exec(url)?.[1] : undefined;

/**
 * Makes a call for a page of the site itself, and for no other page. Three barriers, each of which is enough: a page of
 * another origin does not know the token, sends its own `Origin`, and must ask before it sends JSON. With DNS rebinding,
 * its `Origin` is the host that it has given this machine's address, so the host must be this machine's.
 */
export async function serveCall(
  { token, call }: SiteCalls,
  name: string,
  request: IncomingMessage,
): Promise<CallResult> {
  const { host = '', origin, 'content-type': type = '', 'x-operator-token': sent } = request.headers;
  // A client reads the response only after it has sent its whole body.
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

export function sendResult(
  response: ServerResponse,
  headers: Record<string, string>,
  { status, body }: CallResult,
): void {
  response.writeHead(status, { ...headers, 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}

const rejected = (status: number, error: string): CallResult => ({ status, body: { errors: [error] } });

/** Undefined if the body is too large. */
async function readText(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= mostBytes) chunks.push(chunk);
  }
  return bytes > mostBytes ? undefined : Buffer.concat(chunks).toString();
}

/** In a time that does not depend on how much of the token is right. */
const isEqual = (sent: string, token: string): boolean => timingSafeEqual(digestOf(sent), digestOf(token));

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest();
