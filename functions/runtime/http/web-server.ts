import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import process from 'node:process';
import { finished } from 'node:stream';
import { errorTable, failure, serverErrorMessage } from '#contract/errors.ts';
import { interrupted, ReplyAborted } from '#domain/chats/collect-reply.ts';
import { environment } from '#runtime/environment/environment.ts';
import { Measurements } from '#runtime/observability/invocation.ts';
import { log } from '#runtime/observability/log.ts';
import { headersOf, type WholeResponse } from './response-form.ts';

/**
 * The number of requests of this process that have not ended. A request ends after the work that follows its response.
 */
let active = 0;

/**
 * Whether no other request runs in this process. A Lambda function does not count requests, because it serves one at a
 * time.
 */
export const isOnlyRequest = (): boolean => active <= 1;

const runningReplies = new Set<AbortController>();

/**
 * Aborts a reply when the process must end, so that in a chat its text so far is stored.
 * @returns a function to call when the reply has ended
 */
export function abortOnShutdown(reply: AbortController): () => void {
  runningReplies.add(reply);
  return () => void runningReplies.delete(reply);
}

/** The timeout of headers: the default of Node.js. */
const headersMilliseconds = 60_000;

/** The interval at which Node.js checks open requests for a timeout. */
const checkMilliseconds = 30_000;

/** How long an idle connection stays open: long enough for the proxy in front of this server to close it first. */
const keepAliveMilliseconds = 600_000;

/** How long a client may continue to send after the response; an upload without a slot also before the response. */
export const drainMilliseconds = 3000;

/**
 * How long the connection of a direct request stays open for the rejection, if the body is not complete. The reader is
 * Lambda's proxy, not the client.
 */
const rejectedMilliseconds = 500;

/** How long requests may continue after an error outside of any request, for example to store their replies. */
const endMilliseconds = 10_000;

/** Set when the process must end: new requests are rejected. */
let isEnding = false;

type Respond = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** Serves HTTP at the host and port that Lambda sets for web functions, until the process must end. */
export function listen(respond: Respond, requestMilliseconds: number): void {
  const [host = '', port] = environment('httpEndpoint').split(':');
  webServer(respond, requestMilliseconds).listen(Number(port), host);
  // Lambda kills the process soon after SIGTERM.
  process.once('SIGTERM', end);
  process.on('uncaughtException', endAfter);
  process.on('unhandledRejection', endAfter);
}

/**
 * Makes a server.
 * @param requestMilliseconds maximum time in which the whole request must arrive
 */
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
      // A request ends after both: a reply may still store its title and write its metrics after its response.
      void Promise.all([closed, responded]).then(() => {
        active -= 1;
        exitIfIdle();
      });
    },
  );

/** After an error outside of any request, the state of the process is unknown. So the process ends as at SIGTERM. */
function endAfter(error: unknown): void {
  log.error('The process ends: an error occurred outside of any request', { error });
  end();
  setTimeout(() => process.exit(1), endMilliseconds).unref();
}

/** Rejects new requests, and aborts running replies. Ends the process once no request is running. */
function end(): void {
  isEnding = true;
  for (const reply of runningReplies) reply.abort(new ReplyAborted('shutdown', interrupted));
  exitIfIdle();
}

function exitIfIdle(): void {
  if (isEnding && active === 0) process.exit(1);
}

/** Makes the response to a request of a process that must end; undefined for any other process. */
export function rejectionWhileEnding(requestId: string): WholeResponse | undefined {
  if (!isEnding) return undefined;
  const { status: statusCode, errorCode } = errorTable.unavailable;
  const headers = { ...headersOf(requestId), 'Retry-After': '1' };
  return { statusCode, headers, body: JSON.stringify(failure(errorCode, serverErrorMessage(requestId))) };
}

/**
 * Sends a response whose request may still be arriving. By default, the connection then ends, as `endResponse` says.
 */
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

/** Returns the headers of an HTTP request, with their names in lower case. */
export const headersIn = ({ headersDistinct }: IncomingMessage): Map<string, string[]> =>
  new Map(Object.entries(headersDistinct) as [string, string[]][]);

/**
 * Ends a response whose headers contain its length, or which has no body. The client gets the whole response at once.
 * If the client is still sending, the connection stays open until everything was received, at most 3 s: a connection
 * that is closed with unread bytes is reset, and the reset may overtake the response.
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

/**
 * Rejects and counts a request without the distribution's secret or a signed caller. Its body is not read, and its
 * connection is closed. The response has a status, because otherwise Lambda would respond with 502.
 */
export function rejectDirectRequest(request: IncomingMessage, response: ServerResponse): void {
  countDirectRequest();
  response.writeHead(403, { 'Content-Length': 0, Connection: 'close' });
  if (request.complete) return void response.end();
  // A connection that is closed with unread bytes is reset, and the reset may overtake the response.
  response.flushHeaders();
  const timer = setTimeout(() => request.socket.destroy(), rejectedMilliseconds);
  response.once('close', () => clearTimeout(timer));
}

/**
 * Writes at most one log line a second, because anyone can send any number of such requests, and each line costs money.
 */
function countDirectRequest(): void {
  directRequests.add('requestsWithoutOriginSecret', 1, {});
  if (isScheduled) return;
  isScheduled = true;
  setTimeout(() => {
    isScheduled = false;
    directRequests.publish({});
  }, 1000);
}
