import type { IncomingMessage, ServerResponse } from 'node:http';
import type { APIGatewayProxyResult } from 'aws-lambda';
import { bodyTooLarge, ServiceError } from '#contract/errors.ts';
import { hasBody, longBody, type Route, shortBody } from '#contract/routes/route.ts';
import type { Leave } from '#domain/platform/shares.ts';
import { shares } from '#runtime/composition/services.ts';
import { identifiers } from '#runtime/environment/identifiers.ts';
import { gatewayHeaders } from '#runtime/environment/variables.ts';
import { endRequest, runInvocation } from '#runtime/observability/invocation.ts';
import { failureResponse } from './http-response.ts';
import type { RequestEvent } from './read-request.ts';
import { verifyCaller } from './signed-caller.ts';
import type { ResponseWriter, RouteServer } from './streamed-route.ts';
import { endResponse, listen, rejectDirectRequest, rejectionWhileEnding } from './web-server.ts';

/** The gateway sends a request when it has received all of it: 6 MB in this time are 1.6 Mbit/s within a Region. */
const requestMilliseconds = 30_000;

/** A route of the gateway that a web function serves. */
interface ServedRoute {
  route: Route;
  serve: RouteServer;
  /** The response to a request that is rejected before the route is served; by default an envelope. */
  reject?: (error: unknown, requestId: string) => Promise<APIGatewayProxyResult>;
}

/** The caller that the authorizer has signed, as its context. */
type SignedCaller = Readonly<Record<string, string>>;

/**
 * Serves routes of the gateway over HTTP. The gateway authorizes and throttles each request, and sends the caller that
 * its authorizer has signed. A request without a signed caller is rejected before its body is read.
 */
export function serveRoutes(served: readonly ServedRoute[]): void {
  const routes = served.map((one) => ({ ...one, path: pathPattern(one.route.path) }));

  /** The served route of a request, with the values in its path. */
  function match({ method }: IncomingMessage, { pathname }: URL) {
    for (const { path, ...one } of routes) {
      const found = path.exec(pathname);
      if (found !== null && method === one.route.method) return { ...one, parameters: { ...found.groups } };
    }
    return undefined;
  }

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const arrivedAt = Date.now();
    const requestId = headerOf(request, gatewayHeaders.requestId) ?? identifiers.uuid();
    let caller: SignedCaller | undefined;
    try {
      caller = await verifyCaller(request.headers[gatewayHeaders.signedCaller]);
    } catch (error) {
      return send(request, response, failureResponse(error, requestId));
    }
    if (caller === undefined) return rejectDirectRequest(request, response);
    const url = new URL(request.url ?? '', 'http://any');
    const matched = match(request, url);
    if (matched === undefined) return send(request, response, failureResponse(notFound(), requestId));
    const { route, serve, reject, parameters } = matched;
    const writer = writerOf(response, arrivedAt + route.timeoutSeconds * 1000);
    await runInvocation(
      { name: route.name, properties: { request_id: requestId, workspace_id: caller.workspaceId } },
      async () => {
        const rejection = rejectionWhileEnding(requestId);
        if (rejection !== undefined)
          return send(request, response, (await reject?.(processEnds(), requestId)) ?? rejection);
        let leave: Leave = () => undefined;
        let event: RequestEvent;
        try {
          // The route rejects a caller that the authorizer has rejected, whatever the body says.
          let body = '';
          if (caller.rejection === undefined) {
            leave = shares().take('replies', caller.workspaceId ?? '');
            body = await readBody(request, route);
          }
          event = eventOf({ request, url, parameters, caller, requestId, body });
        } catch (error) {
          leave();
          send(request, response, await (reject ?? failureResponse)(error, requestId));
          return endRequest(route.name, error);
        }
        await serve(event, writer).finally(leave);
      },
    );
  }

  listen(respond, requestMilliseconds);
}

const processEnds = () => new ServiceError('unavailable', 'The process ends', { retryAfter: 1 });
const notFound = () => new ServiceError('notFound', 'Resource not found');

/** A route's path, such as `/chats/{chat_id}/messages`, as a pattern whose groups have the names of the parameters. */
const pathPattern = (path: string): RegExp =>
  new RegExp(`^${path.replaceAll(/\{(\w+)\}/g, (_whole, name) => `(?<${name}>[^/]+)`)}$`);

const headerOf = ({ headers }: IncomingMessage, name: string): string | undefined => {
  const value = headers[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
};

function writerOf(response: ServerResponse, deadline: number): ResponseWriter {
  // A client that is gone does not end its reply: writes to it have no effect.
  response.on('error', () => undefined);
  return {
    open: (statusCode, headers) => response.writeHead(statusCode, headers),
    remainingMilliseconds: () => deadline - Date.now(),
    onGone: (listener) =>
      void response.once('close', () => {
        if (!response.writableFinished) listener();
      }),
  };
}

function send(
  request: IncomingMessage,
  response: ServerResponse,
  { statusCode, headers, body }: ReturnType<typeof failureResponse>,
): void {
  response.writeHead(statusCode, {
    ...(headers as Record<string, string>),
    'Content-Length': Buffer.byteLength(body),
    ...(!request.complete && { Connection: 'close' }),
  });
  endResponse(request, response, body);
}

/** @throws badRequest for a body that is larger than the route's, or that a Lambda function would not get */
async function readBody(request: IncomingMessage, route: Route): Promise<string> {
  const { bytes: mostBytes } = hasBody(route) ? (route.largestBody ?? shortBody) : longBody;
  const chunks: Buffer[] = [];
  let bytes = 0;
  // The response to a body that is too long needs the connection.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > mostBytes) throw bodyTooLarge(mostBytes);
    chunks.push(chunk);
  }
  // As the gateway does for a function's event, invalid bytes become U+FFFD.
  return Buffer.concat(chunks).toString();
}

/** The request in the form of the gateway's event. */
function eventOf(given: {
  request: IncomingMessage;
  url: URL;
  parameters: Record<string, string>;
  caller: SignedCaller;
  requestId: string;
  body: string;
}): RequestEvent {
  const { request, url, caller, requestId, body } = given;
  const { rawHeaders } = request;
  // Without a prototype, because a client may send a header, or a parameter below, with the name `__proto__`.
  const headers: Record<string, string> = Object.create(null);
  const multiValueHeaders: Record<string, string[]> = Object.create(null);
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = [rawHeaders[index]?.toLowerCase(), rawHeaders[index + 1]];
    headers[name] = value;
    multiValueHeaders[name] = [...(multiValueHeaders[name] ?? []), value];
  }
  const query: Record<string, string[]> = Object.create(null);
  for (const name of new Set(url.searchParams.keys())) query[name] = url.searchParams.getAll(name);
  return {
    headers,
    multiValueHeaders,
    multiValueQueryStringParameters: query,
    pathParameters: given.parameters,
    body,
    isBase64Encoded: false,
    requestContext: {
      requestId,
      extendedRequestId: headerOf(request, gatewayHeaders.extendedRequestId),
      domainName: headers.host,
      path: url.pathname,
      authorizer: caller,
    },
  };
}
