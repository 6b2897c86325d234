import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import process from 'node:process';
import { finished } from 'node:stream';
import { errorTable, failure, serverErrorMessage } from '#contract/errors.ts';
import { interrupted, ReplyAborted } from '#domain/chats/collect-reply.ts';
import { environment } from '#runtime/environment/environment.ts';
import { Measurements } from '#runtime/observability/invocation.ts';
import { log } from '#runtime/observability/log.ts';
import { headersOf, type WholeResponse } from './response-form.ts';

/** The requests that have not ended. A request ends after the work that follows its response. */
let active = 0;

/** Always true without this server: then the function serves one request at a time. */
export const isOnlyRequest = (): boolean => active <= 1;

const runningReplies = new Set<AbortController>();

/**
 * Aborts the reply when the process must end. In a chat, its text so far is then stored if the time suffices.
 * @returns a function to call when the reply has ended
 */
export function abortOnShutdown(reply: AbortController): () => void {
  runningReplies.add(reply);
  if (isEnding) abort(reply);
  return () => void runningReplies.delete(reply);
}

/** The default of Node.js. */
const headersMilliseconds = 60_000;

const checkMilliseconds = 30_000;

/** Long enough for the proxy in front of this server to close the connection first. */
const keepAliveMilliseconds = 600_000;

export const drainMilliseconds = 3000;

/** Enough to send an incomplete direct request its rejection, because the reader is Lambda's proxy, not the client. */
const rejectedMilliseconds = 500;

/** How long requests may go on after an error outside of any request, for example to store their replies. */
const endMilliseconds = 10_000;

let isEnding = false;

type Respond = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

export function listen(respond: Respond, requestMilliseconds: number): void {
  const [host = '', port] = environment('httpEndpoint').split(':');
  webServer(respond, requestMilliseconds).listen(Number(port), host);
  // Lambda kills the process soon after SIGTERM.
  process.once('SIGTERM', end);
  process.on('uncaughtException', endAfter);
  process.on('unhandledRejection', endAfter);
}

export const webServer = (respond: Respond, requestMilliseconds: number): Server =>
  createServer(
    {
      requestTimeout: requestMilliseconds,
      headersTimeout: Math.min(headersMilliseconds, requestMilliseconds),
      connectionsCheckingInterval: Math.min(checkMilliseconds, requestMilliseconds),
      keepAliveTimeout: keepAliveMilliseconds,
    },
    (request, response) => {
      active += 1;
      const closed = new Promise<void>((resolve) => response.once('close', resolve));
      const responded = respond(request, response).catch((error: unknown) => {
        log.error('A response was not completed', { error });
        response.destroy();
      });
      // A reply may still store its title and write its metrics after its response.
      void Promise.all([closed, responded]).then(() => {
        active -= 1;
        exitIfIdle();
      });
    },
  );

/** The state of the process is unknown, so the process ends as at SIGTERM. */
function endAfter(error: unknown): void {
  log.error('The process ends: an error occurred outside of any request', { error });
  end();
  setTimeout(() => process.exit(1), endMilliseconds).unref();
}

function end(): void {
  isEnding = true;
  runningReplies.forEach(abort);
  exitIfIdle();
}

const abort = (reply: AbortController): void => reply.abort(new ReplyAborted('shutdown', interrupted));

function exitIfIdle(): void {
  if (isEnding && active === 0) process.exit(1);
}

export function rejectionWhileEnding(requestId: string): WholeResponse | undefined {
  if (!isEnding) return undefined;
  const { status: statusCode, errorCode } = errorTable.unavailable;
  const headers = { ...headersOf(requestId), 'Retry-After': '1' };
  return { statusCode, headers, body: JSON.stringify(failure(errorCode, serverErrorMessage(requestId))) };
}

export function sendWhole(
  request: IncomingMessage,
  response: ServerResponse,
  { statusCode, headers, body }: WholeResponse,
  closesConnection = !request.complete,
): void {
  response.writeHead(statusCode, {
    ...headers,
    'Content-Length': Buffer.byteLength(body),
    ...(closesConnection && { Connection: 'close' }),
  });
  endResponse(request, response, body);
}

export const headersIn = ({ headersDistinct }: IncomingMessage): Map<string, string[]> =>
  new Map(Object.entries(headersDistinct) as [string, string[]][]);

/**
 * Reads the rest of the request for up to `drainMilliseconds` before the response ends: a connection that is closed
 * with unread bytes is reset, and the reset may overtake the response. So the response must have a Content-Length, or a
 * status without a body.
 */
export function endResponse(request: IncomingMessage, response: ServerResponse, body: string): void {
  if (request.complete) return void response.end(body);
  if (body !== '') response.write(body);
  else response.flushHeaders();
  const timer = setTimeout(() => response.end(() => request.socket.destroy()), drainMilliseconds);
  finished(request, () => {
    clearTimeout(timer);
    response.end();
  });
  request.resume();
}

const directRequests = new Measurements();
let isScheduled = false;

/** The response has a status, because otherwise Lambda would respond with 502. */
export function rejectDirectRequest(request: IncomingMessage, response: ServerResponse): void {
  countDirectRequest();
  response.writeHead(403, { 'Content-Length': 0, Connection: 'close' });
  if (request.complete) return void response.end();
  // A reset may overtake the response.
  response.flushHeaders();
  const timer = setTimeout(() => request.socket.destroy(), rejectedMilliseconds);
  response.once('close', () => clearTimeout(timer));
}

/** Logs at most once a second: anyone can send any number of such requests, and each log line costs money. */
function countDirectRequest(): void {
  directRequests.add('requestsWithoutOriginSecret', 1, {});
  if (isScheduled) return;
  isScheduled = true;
  setTimeout(() => {
    isScheduled = false;
    directRequests.publish({});
  }, 1000);
}
