import type { ApiModel } from './api-model.ts';
import type { GatewayFailure } from './gateway-failure.ts';
import type { GatewayRequest } from './proxy-event.ts';

export interface RenderedResponse {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** The API's response for this failure, else its DEFAULT_4XX or DEFAULT_5XX, else AWS's default. */
export function renderGatewayResponse(
  api: ApiModel,
  failure: GatewayFailure,
  gatewayRequest: GatewayRequest,
): RenderedResponse {
  const family = failure.status < 500 ? 'DEFAULT_4XX' : 'DEFAULT_5XX';
  const custom = api.gatewayResponses.get(failure.responseType) ?? api.gatewayResponses.get(family);
  const variables: Record<string, string | undefined> = {
    'context.apiId': api.apiId,
    'context.domainName': gatewayRequest.domainName,
    'context.error.message': failure.text ?? 'null',
    'context.error.messageString': JSON.stringify(failure.text),
    'context.error.responseType': failure.responseType,
    'context.error.validationErrorString': '',
    'context.extendedRequestId': gatewayRequest.extendedRequestId,
    'context.httpMethod': gatewayRequest.httpMethod,
    'context.identity.sourceIp': gatewayRequest.sourceIp,
    'context.path': gatewayRequest.stagePath,
    'context.requestId': gatewayRequest.requestId,
    'context.requestTimeEpoch': String(gatewayRequest.arrivedAt),
    'context.resourcePath': gatewayRequest.resourcePath,
    'context.stage': api.stage,
  };
  const fill = (template: string) =>
    template.replace(/\$(context\.[A-Za-z.]*[A-Za-z])/g, (_, name: string) => variables[name] ?? '');
  const headerValue = (source: string): string => {
    const literal = /^'(.*)'$/.exec(source)?.[1];
    if (literal !== undefined) return literal;
    const header = /^method\.request\.header\.(.+)$/.exec(source)?.[1];
    return (header ? gatewayRequest.headerValue(header) : variables[source]) ?? '';
  };

  const [contentType, template] = Object.entries(custom?.templates ?? {})[0] ?? [
    'application/json',
    undefined,
  ];
  const customHeaders = Object.entries(custom?.headers ?? {})
    .map(([name, source]) => [name, headerValue(source)])
    .filter(([, value]) => value !== '');
  return {
    status: custom?.statusCode ?? failure.status,
    headers: {
      'Content-Type': contentType,
      'x-amzn-ErrorType': failure.errorType,
      ...Object.fromEntries(customHeaders),
    },
    body: template === undefined ? JSON.stringify({ message: failure.text }) : fill(template),
  };
}
