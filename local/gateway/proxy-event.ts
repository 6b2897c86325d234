import { randomBytes, randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ApiMethod, ApiModel } from './api-model.ts';
import type { RouteMatch } from './match-route.ts';
import { headerPairs } from './response-headers.ts';

export type GatewayRequest = ReturnType<typeof readGatewayRequest>;

// Headers of the connection, and others that the gateway handles itself.
const NOT_FORWARDED = new Set([
  'connection',
  'content-length',
  'expect',
  'keep-alive',
  'te',
  'transfer-encoding',
  'upgrade',
]);

export function readGatewayRequest(request: IncomingMessage, stage: string) {
  const [stagePath = '/', query = ''] = (request.url ?? '/').split(/\?(.*)/s);
  const inStage = stagePath === `/${stage}` || stagePath.startsWith(`/${stage}/`);
  // Without a prototype, because a client may send a header, or (below) a query parameter, with the name `__proto__`.
  const multiValueHeaders: Record<string, string[]> = Object.create(null);
  const spelling = new Map<string, string>();
  const add = (name: string, value: string) => {
    const lower = name.toLowerCase();
    if (NOT_FORWARDED.has(lower)) return;
    const spelled = spelling.get(lower) ?? name;
    spelling.set(lower, spelled);
    multiValueHeaders[spelled] = [...(multiValueHeaders[spelled] ?? []), value];
  };
  const set = (name: string, value: string) => {
    delete multiValueHeaders[spelling.get(name.toLowerCase()) ?? name];
    spelling.delete(name.toLowerCase());
    add(name, value);
  };
  for (const [name, value] of headerPairs(request.rawHeaders)) add(name, value);
  const sourceIp = request.socket.remoteAddress ?? '127.0.0.1';
  const forwardedFor = request.headers['x-forwarded-for'];
  const arrivedAt = Date.now();
  set('X-Forwarded-For', forwardedFor ? `${forwardedFor}, ${sourceIp}` : sourceIp);
  set('X-Forwarded-Port', String((request.socket.address() as AddressInfo).port));
  set('X-Forwarded-Proto', 'http');
  const seconds = Math.floor(arrivedAt / 1000).toString(16);
  if (!spelling.has('x-amzn-trace-id'))
    set('X-Amzn-Trace-Id', `Root=1-${seconds}-${randomBytes(12).toString('hex')}`);
  const headers = Object.fromEntries(
    Object.entries(multiValueHeaders).map(([name, values]) => [name, values.at(-1) ?? '']),
  );
  return {
    requestId: randomUUID(),
    extendedRequestId: randomBytes(11).toString('base64url'),
    arrivedAt,
    httpMethod: request.method ?? 'GET',
    inStage,
    /** Without the stage, not decoded. */
    path: inStage ? stagePath.slice(stage.length + 1) || '/' : stagePath,
    stagePath,
    query,
    headers,
    multiValueHeaders,
    sourceIp,
    domainName: (request.headers.host ?? '').replace(/:\d+$/, ''),
    headerValue: (name: string) => headers[spelling.get(name.toLowerCase()) ?? ''],
  };
}

export function createRequestEvent(
  api: ApiModel,
  { node, pathParameters }: RouteMatch,
  gatewayRequest: GatewayRequest,
) {
  const single: Record<string, string> = Object.create(null);
  const multiple: Record<string, string[]> = Object.create(null);
  for (const [name, value] of new URLSearchParams(gatewayRequest.query)) {
    single[name] = value;
    multiple[name] = [...(multiple[name] ?? []), value];
  }
  const hasQuery = Object.keys(single).length > 0;
  return {
    resource: node.resourcePath,
    path: gatewayRequest.path,
    httpMethod: gatewayRequest.httpMethod,
    headers: gatewayRequest.headers,
    multiValueHeaders: gatewayRequest.multiValueHeaders,
    queryStringParameters: hasQuery ? single : null,
    multiValueQueryStringParameters: hasQuery ? multiple : null,
    pathParameters,
    stageVariables: null,
    requestContext: {
      accountId: api.accountId,
      apiId: api.apiId,
      domainName: gatewayRequest.domainName,
      domainPrefix: gatewayRequest.domainName.split('.')[0],
      extendedRequestId: gatewayRequest.extendedRequestId,
      httpMethod: gatewayRequest.httpMethod,
      identity: {
        sourceIp: gatewayRequest.sourceIp,
        userAgent: gatewayRequest.headerValue('user-agent') ?? null,
      },
      path: gatewayRequest.stagePath,
      protocol: 'HTTP/1.1',
      requestId: gatewayRequest.requestId,
      requestTime: formatRequestTime(gatewayRequest.arrivedAt),
      requestTimeEpoch: gatewayRequest.arrivedAt,
      resourceId: node.resourceId,
      resourcePath: node.resourcePath,
      stage: api.stage,
    },
  };
}

export type RequestEvent = ReturnType<typeof createRequestEvent>;

export interface AuthorizedRequest {
  readonly route: RouteMatch & { readonly method: ApiMethod };
  readonly event: RequestEvent;
  readonly authorizer: Record<string, unknown> | undefined;
  readonly body: Buffer;
  readonly gatewayRequest: GatewayRequest;
}

export function createProxyEvent(
  event: RequestEvent,
  authorizer: Record<string, unknown> | undefined,
  body: Buffer,
  isBinary: boolean,
) {
  return {
    ...event,
    requestContext: authorizer ? { ...event.requestContext, authorizer } : event.requestContext,
    body: body.length === 0 ? null : body.toString(isBinary ? 'base64' : 'utf8'),
    isBase64Encoded: body.length > 0 && isBinary,
  };
}

function formatRequestTime(milliseconds: number): string {
  const [, day, month, year, time] = new Date(milliseconds).toUTCString().split(' ');
  return `${day}/${month}/${year}:${time} +0000`;
}
