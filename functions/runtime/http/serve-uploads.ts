import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { APIGatewayProxyResult } from 'aws-lambda';
import { success } from '#contract/envelope.ts';
import { ServiceError, unauthenticated } from '#contract/errors.ts';
import { bytesPerToken } from '#contract/rate-limits.ts';
import { route } from '#contract/routes/upload-file.ts';
import type { Leave } from '#domain/platform/shares.ts';
import type { Caller } from '#domain/workspaces/authorize-request.ts';
import { shares } from '#runtime/composition/services.ts';
import { environment } from '#runtime/environment/environment.ts';
import { identifiers } from '#runtime/environment/identifiers.ts';
import {
  annotateInvocation,
  endRequest,
  measurements,
  runInvocation,
} from '#runtime/observability/invocation.ts';
import { failureResponse, jsonResponse } from './http-response.ts';
import { isFromDistribution } from './origin-secret.ts';
import { rateHeadersOf, startRateLimit } from './rate-limiter.ts';
import { readToEnd } from './read-form.ts';
import type { receiveUpload } from './receive-upload.ts';
import {
  drainMilliseconds,
  endResponse,
  listen,
  rejectDirectRequest,
  rejectionWhileEnding,
} from './web-server.ts';

/** The maximum timeout of a web function. 50 MB in this time are 0.5 Mbit/s. `readToEnd` ends slower ones earlier. */
const requestMilliseconds = 900_000;

interface UploadServer {
  authorize: (apiKey: string) => Promise<Caller>;
  receive: ReturnType<typeof receiveUpload>;
}

/** Serves the upload route over HTTP, at the host and port that Lambda sets for web functions. */
export function serveUploads(services: UploadServer): void {
  listen((request, response) => respond(services, request, response), requestMilliseconds);
}

async function respond(
  services: UploadServer,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const checking = isFromDistribution(request.headers);
  // If the check itself fails, the request fails below with a 500.
  if ((await checking.catch(() => undefined)) === false) {
    rejectDirectRequest(request, response);
    return;
  }
  if (request.method === 'OPTIONS' && environment('handlesPreflights') !== undefined) {
    response.writeHead(204);
    return endResponse(request, response, '');
  }
  const requestId = String(request.headers['lambda-web-request-id'] ?? identifiers.uuid());
  let leave: Leave | undefined;
  const { result, caller } = await runInvocation(
    { name: route.name, properties: { request_id: requestId } },
    () =>
      outcomeOf(services, request, {
        requestId,
        checking,
        enter: ({ workspaceId }) => {
          leave = shares().take('uploads', workspaceId);
        },
      }),
  );
  // Lambda's web functions are half-duplex: read the whole body before responding. Exceptions: a body that is longer
  // than the largest upload, a client without a valid key, and one that has no slot but sends slowly.
  if (caller !== undefined)
    await Promise.race([
      readToEnd(request),
      ...(leave === undefined ? [sleep(drainMilliseconds)] : []),
    ]).catch(() => {});
  leave?.();
  const { statusCode, headers, body } = result;
  response.writeHead(statusCode, {
    ...(headers as Record<string, string>),
    'Content-Length': Buffer.byteLength(body),
    ...(caller !== undefined && !request.complete && { Connection: 'close' }),
  });
  endResponse(request, response, body);
}

interface Outcome {
  result: APIGatewayProxyResult;
  /** Undefined for a client without a valid key. */
  caller: Caller | undefined;
}

async function outcomeOf(
  { authorize, receive }: UploadServer,
  request: IncomingMessage,
  {
    requestId,
    checking,
    enter,
  }: { requestId: string; checking: Promise<boolean>; enter: (caller: Caller) => void },
): Promise<Outcome> {
  let caller: Caller | undefined;
  let failure: unknown;
  try {
    await checking;
    const rejection = rejectionWhileEnding(requestId);
    if (rejection !== undefined) return { result: rejection, caller };
    const { method, path, rateClass } = route;
    if (request.method !== method || !new URL(request.url ?? '', 'http://any').pathname.endsWith(path))
      throw new ServiceError('notFound', 'Resource not found');
    const apiKey = request.headers['x-api-key'];
    if (typeof apiKey !== 'string' || apiKey === '') throw unauthenticated();
    caller = await authorize(apiKey);
    annotateInvocation({ workspace_id: caller.workspaceId });
    enter(caller);
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
    limiter.charge({ uploadedMegabytes: file.size / bytesPerToken });
    measurements.add('uploadedBytes', file.size, { route: 'upload-file' });
    return { result: jsonResponse(route.status, success(file), requestId, limiter.headers()), caller };
  } catch (error) {
    failure = error;
    return { result: failureResponse(error, requestId, rateHeadersOf(request)), caller };
  } finally {
    await endRequest(route.name, failure);
  }
}
