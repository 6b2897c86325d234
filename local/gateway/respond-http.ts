import type { ServerResponse } from 'node:http';
import type { WebRequest, WebResponse } from '../lambda/call-environment.ts';
import type { WebFunctionServer } from '../lambda/web-function-server.ts';
import type { ApiModel, HttpIntegration } from './api-model.ts';
import { GatewayFailure } from './gateway-failure.ts';
import type { AuthorizedRequest, RequestEvent } from './proxy-event.ts';
import { headerPairs, remapped } from './response-headers.ts';

/**
 * AWS does not document whether the gateway repeats a request. `repeats` lets tests see what would happen.
 * @throws GatewayFailure INTEGRATION_TIMEOUT if the headers of the response do not arrive in time
 */
export async function respondHttp(
  api: ApiModel,
  integration: HttpIntegration,
  server: WebFunctionServer,
  request: Omit<AuthorizedRequest, 'route'>,
  response: ServerResponse,
  repeats: 'meanwhile' | 'afterwards' | undefined,
): Promise<void> {
  const ended = new AbortController();
  let hasTimedOut = false;
  const timeOut = () => {
    hasTimedOut = true;
    ended.abort();
    // After the headers there can be no error response.
    if (response.headersSent) response.destroy();
  };
  const deadline = setTimeout(timeOut, integration.timeoutMilliseconds);
  const idleTimeout = setTimeout(timeOut, api.streamIdleMilliseconds);
  response.once('close', () => {
    clearTimeout(deadline);
    clearTimeout(idleTimeout);
    if (!response.writableEnded) ended.abort();
  });
  const send = (): Promise<WebResponse> =>
    server.send(integrationRequest(integration, request, ended.signal));
  const first = repeats === undefined ? undefined : send();
  if (repeats === 'afterwards') await untilEnd(first);
  const { status, rawHeaders, body } = await send();
  if (hasTimedOut) throw new GatewayFailure('INTEGRATION_TIMEOUT');
  if (response.destroyed) return void body.destroy();
  const headers = headerPairs(rawHeaders).flatMap(([name, value]) => [remapped(name), value]);
  response.writeHead(status, headers);
  // Delayed, so that a first part of the body that is there already is sent with the headers.
  if (integration.streamed) setImmediate(() => response.flushHeaders());
  body.on('data', () => idleTimeout.refresh());
  body.once('error', () => response.destroy());
  body.pipe(response);
  void untilEnd(first);
}

async function untilEnd(response: Promise<WebResponse> | undefined): Promise<void> {
  try {
    for await (const _ of (await response)?.body ?? []);
  } catch {
    // No client gets this response.
  }
}

function integrationRequest(
  { httpMethod, path, parameters }: HttpIntegration,
  { event, authorizer, body, gatewayRequest }: Omit<AuthorizedRequest, 'route'>,
  signal: AbortSignal,
): WebRequest {
  const valueFrom = (source: string | undefined): string =>
    source === undefined ? '' : sourceValue(source, event, authorizer);
  const headers = Object.entries(parameters)
    .filter(([target]) => target.startsWith('header.'))
    .map(([target, source]) => [target.slice('header.'.length), valueFrom(source)] as const);
  const replaced = new Set([...headers.map(([name]) => name.toLowerCase()), 'host']);
  const own = Object.entries(gatewayRequest.multiValueHeaders).flatMap(([name, values]) =>
    replaced.has(name.toLowerCase()) ? [] : values.flatMap((value) => [name, value]),
  );
  const query = gatewayRequest.query === '' ? '' : `?${gatewayRequest.query}`;
  return {
    method: httpMethod,
    path:
      path.replaceAll(/\{(\w+)\}/g, (_whole, name) =>
        encodeURIComponent(valueFrom(parameters[`path.${name}`])),
      ) + query,
    rawHeaders: [...own, ...headers.flat(), 'Content-Length', String(body.length)],
    body,
    signal,
  };
}

/**
 * Empty if a `context.authorizer.x` or a `method.request.path.x` is missing.
 * @throws Error for a source of another kind, and for a `context.x` that is missing or is not a text
 */
function sourceValue(
  source: string,
  event: RequestEvent,
  authorizer: Record<string, unknown> | undefined,
): string {
  const [, kind, name = ''] =
    /^(context\.authorizer|context|method\.request\.path)\.(.+)$/.exec(source) ?? [];
  if (kind === 'context.authorizer') return String(authorizer?.[name] ?? '');
  if (kind === 'method.request.path') return event.pathParameters?.[name] ?? '';
  const found = (event.requestContext as Record<string, unknown>)[name];
  if (kind !== 'context' || typeof found !== 'string')
    throw new Error(`The parameter ${source} of an integration cannot run locally`);
  return found;
}
