import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { APIGatewayProxyResult } from 'aws-lambda';
import { success } from '#contract/envelope.ts';
import { ServiceError } from '#contract/errors.ts';
import { route } from '#contract/routes/upload-file.ts';
import type { Caller } from '#domain/authorize-request.ts';
import { environment } from './environment.ts';
import { failureResponse, jsonResponse } from './http-response.ts';
import { identifiers } from './identifiers.ts';
import { countRequest, measurements } from './invocation.ts';
import { loggingAs, tellInLog } from './log.ts';
import { isFromDistribution } from './origin-secret.ts';
import { openRateGate, rateHeadersOf } from './rate-gate.ts';
import { readToEnd } from './read-form.ts';
import type { receiveUpload } from './receive-upload.ts';

/** As long as the function may run: 50 MB in it are half a megabit a second. */
const requestMilliseconds = 900_000;

/** Longer than whoever stands in front keeps a silent connection: it, and not this end, closes it. */
const keepAliveMilliseconds = 600_000;

interface UploadServer {
  authorize: (apiKey: string) => Promise<Caller>;
  receive: ReturnType<typeof receiveUpload>;
}

/** The upload route as an HTTP server, where Lambda's managed runtime for web functions wants it to listen. */
export function serveUploads(services: UploadServer): void {
  const [host = '', port] = environment('httpEndpoint').split(':');
  const server = createServer(
    { requestTimeout: requestMilliseconds, keepAliveTimeout: keepAliveMilliseconds },
    (request, response) => void answer(services, request, response),
  );
  server.listen(Number(port), host);
}

async function answer(
  services: UploadServer,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const requestId = String(request.headers['lambda-web-request-id'] ?? identifiers.uuid());
  const { statusCode, headers, body } = await loggingAs({ request_id: requestId }, () =>
    resultOf(services, request, requestId),
  );
  // The way in is closed before the way out opens; but nobody waits for a body longer than any upload.
  await readToEnd(request).catch(() => {});
  response.writeHead(statusCode, {
    ...(headers as Record<string, string>),
    'Content-Length': Buffer.byteLength(body),
    ...(!request.complete && { Connection: 'close' }),
  });
  response.end(body);
}

async function resultOf(
  { authorize, receive }: UploadServer,
  request: IncomingMessage,
  requestId: string,
): Promise<APIGatewayProxyResult> {
  let caller: Caller | undefined;
  let failure: unknown;
  try {
    if (!(await isFromDistribution(request.headers))) throw new ServiceError('accessDenied', 'Access denied');
    const { method, path, rateClass } = route;
    if (request.method !== method || !new URL(request.url ?? '', 'http://any').pathname.endsWith(path))
      throw new ServiceError('notFound', 'Resource not found');
    const apiKey = request.headers['x-api-key'];
    if (typeof apiKey !== 'string' || apiKey === '')
      throw new ServiceError('unauthenticated', 'Missing or invalid API key');
    caller = await authorize(apiKey);
    tellInLog({ workspace_id: caller.workspaceId });
    const gate = openRateGate(request, rateClass, caller);
    const { workspaceId, apiKeyId } = caller;
    const file = await gate.through(async () => {
      await gate.admitted;
      return receive({
        caller: { workspaceId, apiKeyId },
        contentType: request.headers['content-type'],
        body: request,
      });
    });
    measurements.add('uploadedBytes', file.size, { route: 'upload-file' });
    return jsonResponse(route.status, success(file), requestId, gate.headers());
  } catch (error) {
    failure = error;
    return failureResponse(error, requestId, rateHeadersOf(request));
  } finally {
    countRequest('upload-file', failure);
    measurements.publish({ request_id: requestId, workspace_id: caller?.workspaceId });
  }
}
