import type { ServerResponse } from 'node:http';
import { findFunction } from '../lambda/find-function.ts';
import type { RunContext } from '../run-context.ts';
import type { ApiModel, FunctionIntegration } from './api-model.ts';
import { type AuthorizeContext, denialOfInvocation } from './authorize.ts';
import { GatewayFailure } from './gateway-failure.ts';
import { type AuthorizedRequest, createProxyEvent } from './proxy-event.ts';
import { respondBuffered } from './respond-buffered.ts';
import { respondHttp } from './respond-http.ts';
import { respondMock } from './respond-mock.ts';
import { respondStreamed } from './respond-streamed.ts';
import { isBinaryType } from './response-headers.ts';

export type GatewayContext = AuthorizeContext & Pick<RunContext, 'serving' | 'webFunctions'>;

// Lambda's limit for the event of a synchronous call.
const MAX_PAYLOAD_BYTES = 6 * 1024 * 1024;

export function createIntegrate(
  api: ApiModel,
  { functions, webFunctions, access, options }: GatewayContext,
): (request: AuthorizedRequest, response: ServerResponse) => Promise<void> {
  function invoke(
    integration: FunctionIntegration,
    { route, event, authorizer, body, gatewayRequest }: AuthorizedRequest,
    response: ServerResponse,
  ): Promise<void> {
    const isBinary = isBinaryType(api.binaryMediaTypes, gatewayRequest.headerValue('content-type'));
    const payload = JSON.stringify(createProxyEvent(event, authorizer, body, isBinary));
    if (Buffer.byteLength(payload) > MAX_PAYLOAD_BYTES) throw new GatewayFailure('REQUEST_TOO_LARGE');
    const fn = findFunction({ functions }, integration.functionArn);
    if (!fn) throw new GatewayFailure('DEFAULT_5XX');
    // The path in this ARN has the names of the path parameters, not their values.
    const sourceArn = `${api.arn}/${api.stage}/${gatewayRequest.httpMethod}${route.node.resourcePath}`;
    if (denialOfInvocation(access, { ...integration, sourceArn }))
      throw new GatewayFailure('API_CONFIGURATION_ERROR');
    return integration.streamed
      ? respondStreamed(api, integration, fn, payload, response)
      : respondBuffered(api, integration, fn, payload, gatewayRequest, response);
  }

  return async (request, response) => {
    const { integration } = request.route.method;
    if ('functionArn' in integration) return invoke(integration, request, response);
    if ('status' in integration) return respondMock(integration, request.gatewayRequest, response);
    const server = webFunctions.get(integration.domainName);
    if (server === undefined) throw new GatewayFailure('INTEGRATION_FAILURE');
    return respondHttp(api, integration, server, request, response, options.faults?.repeatedRequest?.());
  };
}
