import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { openSite, type Site } from '../site/serve-site.ts';
import { listenOnLoopback } from '../wire/listen-on-loopback.ts';
import { createThrottle } from '../wire/throttle.ts';
import type { ApiMethod, ApiModel } from './api-model.ts';
import { createAuthorize } from './authorize.ts';
import { GatewayFailure, renderGatewayResponse } from './gateway-failure.ts';
import { createIntegrate, type GatewayContext } from './integrate.ts';
import { matchRoute, type RouteMatch } from './match-route.ts';
import { createRequestEvent, type GatewayRequest, readGatewayRequest } from './proxy-event.ts';
import { endResponse, readBody } from './read-body.ts';

// API Gateway's limit for the request line and all header values.
const MAX_HEADER_BYTES = 10_240;

const KEEP_ALIVE_MILLISECONDS = 350_000;

export async function serveRestApi(
  api: ApiModel,
  context: GatewayContext,
  { port, site }: { readonly port: number; readonly site?: Site | undefined },
) {
  const { serving, options } = context;
  const integrate = createIntegrate(api, context);
  const authorize = createAuthorize(api, context);
  const throttle = createThrottle<ApiMethod>();

  async function respond(
    request: IncomingMessage,
    response: ServerResponse,
    gatewayRequest: GatewayRequest,
  ): Promise<void> {
    const receiving = readBody(request);
    // Awaited below. This line prevents an unhandled rejection until then.
    receiving.catch(() => {});
    try {
      await serving.promise;
      checkHeaderBytes(request);
      const route = matchMethod(api, gatewayRequest);
      const { method } = route;
      if (!throttle.take(method, method.throttle)) throw new GatewayFailure('THROTTLED');
      const body = await receiving;
      const event = createRequestEvent(api, route, gatewayRequest);
      const authorizer = method.authorizer && (await authorize(method.authorizer, event, gatewayRequest));
      await integrate({ route, event, authorizer, body, gatewayRequest }, response);
    } catch (error) {
      // Some clients read the response only after they have sent the whole body.
      await receiving.catch(() => {});
      throw error;
    }
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const gatewayRequest = readGatewayRequest(request, api.stage);
    response.setHeader('x-amzn-RequestId', gatewayRequest.requestId);
    response.setHeader('x-amz-apigw-id', gatewayRequest.extendedRequestId);
    try {
      await respond(request, response, gatewayRequest);
    } catch (error) {
      if (response.headersSent || response.destroyed) return;
      sendFailure(api, error, gatewayRequest, request, response);
    }
  }

  const serveSite = await openSite(site);
  const server = createServer(
    { keepAliveTimeout: KEEP_ALIVE_MILLISECONDS, maxHeaderSize: 8 * MAX_HEADER_BYTES },
    (request, response) => void (serveSite(request, response) || serve(request, response)),
  );
  // Without this listener, Node.js responds with 417 to an unknown `Expect` header.
  server.on('checkExpectation', (request, response) => void serve(request, response));
  const { endpoint, close } = await listenOnLoopback(server, {
    port,
    pageOrigins: options.pageOrigins ?? ['*'],
  });
  return { respond: serve, url: `${endpoint}/${api.stage}`, close };
}

function matchMethod(
  { root }: ApiModel,
  { inStage, path, httpMethod }: GatewayRequest,
): RouteMatch & { readonly method: ApiMethod } {
  const route = inStage ? matchRoute(root, path) : undefined;
  const method = route?.node.methods.get(httpMethod) ?? route?.node.methods.get('ANY');
  if (!route || !method) throw new GatewayFailure('MISSING_AUTHENTICATION_TOKEN');
  return { ...route, method };
}

function sendFailure(
  api: ApiModel,
  error: unknown,
  gatewayRequest: GatewayRequest,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const failure = error instanceof GatewayFailure ? error : new GatewayFailure('DEFAULT_5XX');
  const { status, headers, body } = renderGatewayResponse(api, failure, gatewayRequest);
  const connection = request.complete ? {} : { Connection: 'close' };
  response.writeHead(status, { ...headers, ...connection, 'Content-Length': Buffer.byteLength(body) });
  response.write(body);
  endResponse(request, response);
}

function checkHeaderBytes({ method = '', url = '', rawHeaders }: IncomingMessage): void {
  const values = rawHeaders.filter((_, index) => index % 2 === 1);
  const bytes = values.reduce((sum, value) => sum + value.length, `${method} ${url} HTTP/1.1`.length);
  if (bytes > MAX_HEADER_BYTES)
    throw new GatewayFailure('REQUEST_TOO_LARGE', `HTTP header is larger than ${MAX_HEADER_BYTES} bytes.`);
}
