import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { finished } from 'node:stream';
import type { APIGatewayProxyResult } from 'aws-lambda';
import { success } from '#contract/envelope.ts';
import { ServiceError, unauthenticated } from '#contract/errors.ts';
import { route } from '#contract/routes/upload-file.ts';
import type { Caller } from '#domain/workspaces/authorize-request.ts';
import { environment } from '#runtime/environment/environment.ts';
import { identifiers } from '#runtime/environment/identifiers.ts';
import {
  annotateInvocation,
  endRequest,
  measurements,
  runInvocation,
} from '#runtime/observability/invocation.ts';
import { Measurements } from '#runtime/observability/measurements.ts';
import { failureResponse, jsonResponse } from './http-response.ts';
import { isFromDistribution } from './origin-secret.ts';
import { rateHeadersOf, startRateLimit } from './rate-limiter.ts';
import { readToEnd } from './read-form.ts';
import type { receiveUpload } from './receive-upload.ts';

/** The function's own timeout. 50 MB in this time are 0.5 Mbit/s. */
const requestMilliseconds = 900_000;

/** Longer than the proxy in front keeps an idle connection, so that the proxy closes it and not this server. */
const keepAliveMilliseconds = 600_000;

/**
 * How long a client without a valid key may continue to send after the response. An honest client that sends its body
 * before it reads can send several megabytes in this time; a deliberately slow client occupies the connection no
 * longer.
 */
const drainMilliseconds = 3000;

interface UploadServer {
  authorize: (apiKey: string) => Promise<Caller>;
  receive: ReturnType<typeof receiveUpload>;
}

/** Serves the upload route over HTTP, at the host and port that Lambda sets for web functions. */
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
  // If the check itself fails, the request fails below with a 500.
  if ((await checking.catch(() => undefined)) === false) {
    countDirectRequest();
    request.socket.destroy();
    return;
  }
  if (request.method === 'OPTIONS' && environment('handlesPreflights') !== undefined) {
    response.writeHead(204).end();
    return drain(request);
  }
  const requestId = String(request.headers['lambda-web-request-id'] ?? identifiers.uuid());
  const { result, caller } = await runInvocation(
    { name: route.name, properties: { request_id: requestId } },
    () => outcomeOf(services, request, { requestId, checking }),
  );
  // Lambda's web functions are half-duplex: read the whole body before responding. Exceptions: a body that is longer
  // than the largest upload, and a client without a valid key.
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

/** Reads the rest of a body for 3 s, so that the client receives the response, then closes the connection. */
function drain(request: IncomingMessage): void {
  if (request.complete) return;
  const timer = setTimeout(() => request.socket.destroy(), drainMilliseconds);
  finished(request, () => clearTimeout(timer));
  request.resume();
}

const directRequests = new Measurements();
let isScheduled = false;

/**
 * Counts a request without the distribution's secret. At most one log line a second, because anyone can send any number
 * of such requests and each line costs money.
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

interface Outcome {
  result: APIGatewayProxyResult;
  /** Undefined for a client without a valid key. */
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
    annotateInvocation({ workspace_id: caller.workspaceId });
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
    await endRequest(route.name, failure);
  }
}
