import type { IncomingMessage, ServerResponse } from 'node:http';
import { BodyTooLarge, ServiceError } from '#contract/errors.ts';
import { hasBody, longBody, type Route, shortBody } from '#contract/routes/route.ts';
import type { Leave } from '#domain/platform/shares.ts';
import { shares } from '#runtime/composition/services.ts';
import { identifiers } from '#runtime/environment/invocation-context.ts';
import { gatewayHeaders } from '#runtime/environment/variables.ts';
import { runInvocation } from '#runtime/observability/invocation.ts';
import { verifyCaller } from './caller-secrets.ts';
import { callerIn, headerIn, type Request } from './request.ts';
import { failureResponse, type ResponseForm } from './response-form.ts';
import { collectText, type ResponseWriter, type Serve } from './serve-route.ts';
import { headersIn, listen, rejectDirectRequest, rejectionWhileEnding, sendWhole } from './web-server.ts';

/** Enough: the gateway sends a request only after it has received the whole of it. */
const requestMilliseconds = 30_000;

interface ServedRoute {
  route: Route;
  serve: Serve;
  form?: () => Promise<ResponseForm>;
}

/** A request without a signed caller is rejected before its body is read. */
export function serveRoutes(served: readonly ServedRoute[]): void {
  const routes = served.map((one) => ({ ...one, path: pathPattern(one.route.path) }));

  function match({ method }: IncomingMessage, { pathname }: URL) {
    for (const { path, ...one } of routes) {
      const found = path.exec(pathname);
      if (found !== null && method === one.route.method) return { ...one, parameters: { ...found.groups } };
    }
    return undefined;
  }

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const arrivedAt = Date.now();
    const headers = headersIn(request);
    const id = headerIn({ headers }, gatewayHeaders.requestId) || identifiers.uuid();
    let context: Readonly<Record<string, string>> | undefined;
    try {
      context = await verifyCaller(headerIn({ headers }, gatewayHeaders.signedCaller));
    } catch (error) {
      return sendWhole(request, response, failureResponse(error, id));
    }
    if (context === undefined) return rejectDirectRequest(request, response);
    const url = new URL(request.url ?? '', 'http://any');
    const matched = match(request, url);
    if (matched === undefined) return sendWhole(request, response, failureResponse(notFound(), id));
    const { route, serve, form, parameters } = matched;
    const caller = callerIn(context);
    const { rejection } = context;
    await runInvocation(
      { name: route.name, properties: { request_id: id, workspace_id: caller?.workspaceId } },
      async () => {
        const ending = rejectionWhileEnding(id);
        if (ending !== undefined)
          return sendWhole(request, response, (await form?.())?.failure(processEnds(), id) ?? ending);
        let leave: Leave = () => undefined;
        const body = (async () => {
          // The route rejects the request and does not need its body.
          if (caller === undefined) return '';
          leave = shares().take('replies', caller.workspaceId);
          return readBody(request, route);
        })();
        // The route responds to a failure in its own form.
        await body.catch(() => undefined);
        const given: Request = {
          ...{ id, headers, parameters, caller, rejection },
          gatewayId: headerIn({ headers }, gatewayHeaders.extendedRequestId) || id,
          query: queryOf(url),
          path: url.pathname,
          gatewayHost: undefined,
          body: () => body,
        };
        const writer = writerOf(request, response, arrivedAt + route.timeoutSeconds * 1000);
        await serve(given, writer).finally(() => leave());
      },
    );
  }

  listen(respond, requestMilliseconds);
}

const processEnds = () => new ServiceError('unavailable', 'The process ends', { retryAfter: 1 });
const notFound = () => new ServiceError('notFound', 'Resource not found');

const pathPattern = (path: string): RegExp =>
  new RegExp(`^${path.replaceAll(/\{(\w+)\}/g, (_whole, name) => `(?<${name}>[^/]+)`)}$`);

function queryOf({ searchParams }: URL): Map<string, string[]> {
  const byName = Map.groupBy(searchParams, ([name]) => name);
  return new Map([...byName].map(([name, pairs]) => [name, pairs.map(([, value]) => value)]));
}

function writerOf(request: IncomingMessage, response: ServerResponse, deadline: number): ResponseWriter {
  // If a client is gone, its reply in a chat continues.
  response.on('error', () => undefined);
  return {
    open(statusCode, headers) {
      if (request.complete) return response.writeHead(statusCode, headers);
      // Only an error is sent while the request is still arriving.
      return collectText((body) => sendWhole(request, response, { statusCode, headers, body }));
    },
    remainingMilliseconds: () => deadline - Date.now(),
    onGone: (listener) =>
      void response.once('close', () => {
        if (!response.writableFinished) listener();
      }),
  };
}

/** @throws badRequest for a body that is too large; Error if the client disconnects */
async function readBody(request: IncomingMessage, route: Route): Promise<string> {
  const { bytes: mostBytes } = hasBody(route) ? (route.largestBody ?? shortBody) : longBody;
  const chunks: Buffer[] = [];
  let bytes = 0;
  // The iterator must not destroy the request, because the response to a body that is too long needs the connection.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > mostBytes) throw new BodyTooLarge(mostBytes);
    chunks.push(chunk);
  }
  // As the gateway does for a function's event, invalid bytes become U+FFFD.
  return Buffer.concat(chunks).toString();
}
