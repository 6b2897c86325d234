import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { finished } from 'node:stream';
import type { APIGatewayProxyResult } from 'aws-lambda';
import { success } from '#contract/envelope.ts';
import { ServiceError, unauthenticated } from '#contract/errors.ts';
import { route } from '#contract/routes/upload-file.ts';
import type { Caller } from '#domain/workspaces/authorize-request.ts';
import { environment } from '#runtime/environment/environment.ts';
import { identifiers } from '#runtime/environment/identifiers.ts';
import { countRequest, measurements } from '#runtime/observability/invocation.ts';
import { addToLog, loggingAs } from '#runtime/observability/log.ts';
import { Measurements } from '#runtime/observability/measurements.ts';
import { failureResponse, jsonResponse } from './http-response.ts';
import { isFromDistribution } from './origin-secret.ts';
import { rateHeadersOf, startRateLimit } from './rate-limiter.ts';
import { readToEnd } from './read-form.ts';
import type { receiveUpload } from './receive-upload.ts';

/** As long as the function may run: 50 MB in it are half a megabit a second. */
const requestMilliseconds = 900_000;

/** Longer than whoever stands in front keeps a silent connection: it, and not this end, closes it. */
const keepAliveMilliseconds = 600_000;

/**
 * How long a sender without a good key may go on sending after its answer: a client that sends its whole body before it
 * reads gets rid of some megabytes in that time, and one that is slow on purpose holds a place for no longer.
 */
const drainMilliseconds = 3000;

interface UploadServer {
  authorize: (apiKey: string) => Promise<Caller>;
  receive: ReturnType<typeof receiveUpload>;
}

/** The upload route as an HTTP server, where Lambda's managed runtime for web functions wants it to listen. */
export function serveUploads(services: UploadServer): void {
  const [host = '', port] = environment('httpEndpoint').split(':');
  const server = createServer(
    { requestTimeout: requestMilliseconds, keepAliveTimeout: keepAliveMilliseconds },
    (request, response) => void respond(services, request, response),
  );
  server.listen(Number(port), host);
}

async function respond(
  services: UploadServer,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const checking = isFromDistribution(request.headers);
  // When that cannot be told, the request fails below.
  if ((await checking.catch(() => undefined)) === false) {
    countStranger();
    request.socket.destroy();
    return;
  }
  if (request.method === 'OPTIONS' && environment('answersPreflights') !== undefined) {
    response.writeHead(204).end();
    return drain(request);
  }
  const requestId = String(request.headers['lambda-web-request-id'] ?? identifiers.uuid());
  const { result, caller } = await loggingAs({ request_id: requestId }, () =>
    outcomeOf(services, request, { requestId, checking }),
  );
  // The way in is closed before the way out opens; but nobody waits for a body longer than any upload, nor for one whose
  // sender has no good key.
  if (caller !== undefined) await readToEnd(request).catch(() => {});
  const { statusCode, headers, body } = result;
  response.writeHead(statusCode, {
    ...(headers as Record<string, string>),
    'Content-Length': Buffer.byteLength(body),
    ...(caller !== undefined && !request.complete && { Connection: 'close' }),
  });
  response.end(body);
  if (caller === undefined) drain(request);
}

/** Reads what is left of a body for a while, so that its sender hears the answer, then closes the connection. */
function drain(request: IncomingMessage): void {
  if (request.complete) return;
  const timer = setTimeout(() => request.socket.destroy(), drainMilliseconds);
  finished(request, () => clearTimeout(timer));
  request.resume();
}

const strangers = new Measurements();
let isWaiting = false;

/** Told in one line a second: strangers may send any number of requests, and each line of a log costs. */
function countStranger(): void {
  strangers.add('strangers', 1, {});
  if (isWaiting) return;
  isWaiting = true;
  setTimeout(() => {
    isWaiting = false;
    strangers.publish({});
  }, 1000);
}

interface Outcome {
  result: APIGatewayProxyResult;
  /** Undefined for a sender without a good key. */
  caller: Caller | undefined;
}

async function outcomeOf(
  { authorize, receive }: UploadServer,
  request: IncomingMessage,
  { requestId, checking }: { requestId: string; checking: Promise<boolean> },
): Promise<Outcome> {
  let caller: Caller | undefined;
  let failure: unknown;
  try {
    await checking;
    const { method, path, rateClass } = route;
    if (request.method !== method || !new URL(request.url ?? '', 'http://any').pathname.endsWith(path))
      throw new ServiceError('notFound', 'Resource not found');
    const apiKey = request.headers['x-api-key'];
    if (typeof apiKey !== 'string' || apiKey === '') throw unauthenticated();
    caller = await authorize(apiKey);
    addToLog({ workspace_id: caller.workspaceId });
    const limiter = startRateLimit(request, rateClass, caller);
    const { workspaceId, apiKeyId } = caller;
    const file = await limiter.through(async () => {
      await limiter.awaitRateLimit();
      return receive({
        caller: { workspaceId, apiKeyId },
        contentType: request.headers['content-type'],
        body: request,
      });
    });
    measurements.add('uploadedBytes', file.size, { route: 'upload-file' });
    return { result: jsonResponse(route.status, success(file), requestId, limiter.headers()), caller };
  } catch (error) {
    failure = error;
    return { result: failureResponse(error, requestId, rateHeadersOf(request)), caller };
  } finally {
    countRequest('upload-file', failure);
    measurements.publish({ request_id: requestId, workspace_id: caller?.workspaceId });
  }
}
