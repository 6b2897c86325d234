import type { ServerResponse } from 'node:http';
import type { InvokableFunction } from '../lambda/invokable-function.ts';
import type { ApiModel, FunctionIntegration } from './api-model.ts';
import { GatewayFailure } from './gateway-failure.ts';
import type { GatewayRequest } from './proxy-event.ts';
import { isBinaryType, type ProxyHead, responseHeaders, responseStatus } from './response-headers.ts';

// Lambda's limit for a buffered response: 6 MiB and 100 bytes.
const MAX_RESPONSE_BYTES = 6_291_556;

interface ProxyResponse extends ProxyHead {
  readonly body?: unknown;
  readonly isBase64Encoded?: unknown;
}

const RESPONSE_KEYS = new Set(['statusCode', 'headers', 'multiValueHeaders', 'body', 'isBase64Encoded']);

/** @throws GatewayFailure; another Error if the function's response is not JSON */
export async function respondBuffered(
  api: ApiModel,
  { timeoutMilliseconds }: FunctionIntegration,
  fn: InvokableFunction,
  payload: string,
  gatewayRequest: GatewayRequest,
  response: ServerResponse,
): Promise<void> {
  const result = await withTimeout(fn.invoke(payload), timeoutMilliseconds);
  if (!result.succeeded && result.throttle !== undefined) throw new GatewayFailure('INTEGRATION_FAILURE');
  if (!result.succeeded || Buffer.byteLength(result.payload) > MAX_RESPONSE_BYTES)
    throw new GatewayFailure('DEFAULT_5XX');
  const { status, headers, body } = readProxyResponse(result.payload, api, gatewayRequest);
  const hasType = headers.some((name, index) => index % 2 === 0 && name.toLowerCase() === 'content-type');
  const type = hasType ? [] : ['Content-Type', 'application/json'];
  response.writeHead(status, [...headers, ...type, 'Content-Length', String(body.length)]).end(body);
}

/** As in AWS, the function still runs after a timeout. */
async function withTimeout<T>(work: Promise<T>, milliseconds: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new GatewayFailure('INTEGRATION_TIMEOUT')), milliseconds);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

function readProxyResponse(payload: string, { binaryMediaTypes }: ApiModel, gatewayRequest: GatewayRequest) {
  // A payload that is not an object has no status, so it is rejected below.
  const response = Object(JSON.parse(payload)) as ProxyResponse;
  const status = responseStatus(response);
  const headers = responseHeaders(response);
  const body = response.body ?? '';
  // One unknown key makes a proxy response invalid.
  const isKnown = Object.keys(response).every((key) => RESPONSE_KEYS.has(key));
  if (!isKnown || status === undefined || !headers || typeof body !== 'string')
    throw new GatewayFailure('DEFAULT_5XX');
  // The first type in the client's Accept header decides whether a base64 body is decoded.
  const [accepted] = (gatewayRequest.headerValue('accept') ?? '*/*').split(',');
  const isBinary = response.isBase64Encoded === true && isBinaryType(binaryMediaTypes, accepted);
  return { status, headers, body: Buffer.from(body, isBinary ? 'base64' : 'utf8') };
}
