import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError, unauthenticated } from '#contract/errors.ts';
import { uploadFileRoute } from '#contract/routes/files.ts';
import type { Leave } from '#domain/platform/shares.ts';
import type { Caller } from '#domain/workspaces/api-keys.ts';
import { authorizer, shares } from '#runtime/composition/services.ts';
import { environment } from '#runtime/environment/environment.ts';
import { identifiers } from '#runtime/environment/invocation-context.ts';
import { originSecretHeader } from '#runtime/environment/variables.ts';
import { annotateInvocation, endRequest, runInvocation } from '#runtime/observability/invocation.ts';
import { isFromDistribution } from './caller-secrets.ts';
import { readToEnd } from './read-form.ts';
import { failureResponse, type WholeResponse } from './response-form.ts';
import { type Serve, wholeResponse } from './serve-route.ts';
import {
  drainMilliseconds,
  endResponse,
  headersIn,
  listen,
  rejectDirectRequest,
  rejectionWhileEnding,
  sendWhole,
} from './web-server.ts';

/** The maximum timeout of a web function. */
const requestMilliseconds = 900_000;

const authorize = authorizer();

export function serveUploads(serve: Serve): void {
  listen((request, response) => respond(serve, request, response), requestMilliseconds);
}

async function respond(serve: Serve, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const checking = isFromDistribution(request.headers[originSecretHeader]);
  // If the check itself fails, a preflight is still handled, and any other request fails below with a 500.
  if ((await checking.catch(() => undefined)) === false) return rejectDirectRequest(request, response);
  if (request.method === 'OPTIONS' && environment('handlesPreflights') !== undefined) {
    response.writeHead(204);
    return endResponse(request, response, '');
  }
  const id = String(request.headers['lambda-web-request-id'] ?? identifiers.uuid());
  let caller: Caller | undefined;
  let leave: Leave | undefined;
  try {
    const result = await runInvocation(
      { name: uploadFileRoute.name, properties: { request_id: id } },
      async () => {
        try {
          await checking;
          const ending = rejectionWhileEnding(id);
          if (ending !== undefined) return ending;
          caller = await callerOf(request);
          leave = shares().take('uploads', caller.workspaceId);
        } catch (error) {
          await endRequest(uploadFileRoute.name, error);
          return failureResponse(error, id);
        }
        return responseTo(serve, request, id, caller);
      },
    );
    // CloudFront and Lambda deliver a response only after the request is complete.
    if (caller !== undefined)
      await Promise.race([
        readToEnd(request),
        ...(leave === undefined ? [sleep(drainMilliseconds)] : []),
      ]).catch(() => {});
    sendWhole(request, response, result, caller !== undefined && !request.complete);
  } finally {
    leave?.();
  }
}

/**
 * @throws notFound for any request that is not an upload; unauthenticated without a valid API key; accessDenied if the
 *   workspace is disabled or deleted
 */
async function callerOf(request: IncomingMessage): Promise<Caller> {
  const { pathname } = new URL(request.url ?? '', 'http://any');
  if (request.method !== uploadFileRoute.method || !pathname.endsWith(uploadFileRoute.path))
    throw new ServiceError('notFound', 'Resource not found');
  const apiKey = request.headers['x-api-key'];
  if (typeof apiKey !== 'string' || apiKey === '') throw unauthenticated();
  const caller = await authorize(apiKey);
  annotateInvocation({ workspace_id: caller.workspaceId });
  return caller;
}

const responseTo = (
  serve: Serve,
  request: IncomingMessage,
  id: string,
  caller: Caller,
): Promise<WholeResponse> =>
  wholeResponse((open) =>
    serve(
      {
        ...{ id, gatewayId: id, caller, parameters: {}, path: uploadFileRoute.path, gatewayHost: undefined },
        headers: headersIn(request),
        query: new Map(),
        body: async () => '',
        upload: request,
      },
      { open, remainingMilliseconds: () => requestMilliseconds },
    ),
  );
