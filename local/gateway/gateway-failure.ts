import type { ApiModel } from './api-model.ts';
import type { GatewayRequest } from './proxy-event.ts';

const FAILURES = {
  ACCESS_DENIED: [403, 'User is not authorized to access this resource', 'AccessDeniedException'],
  API_CONFIGURATION_ERROR: [500, 'Internal server error', 'InternalServerErrorException'],
  AUTHORIZER_CONFIGURATION_ERROR: [500, null, 'AuthorizerConfigurationException'],
  AUTHORIZER_FAILURE: [500, null, 'AuthorizerConfigurationException'],
  // There is no specific type for a function that failed or returned an invalid proxy response.
  DEFAULT_5XX: [502, 'Internal server error', 'InternalServerErrorException'],
  // API Gateway uses this type for a throttled function, too: clients get 500, although AWS documents 504.
  INTEGRATION_FAILURE: [500, 'Internal server error', 'InternalServerErrorException'],
  INTEGRATION_TIMEOUT: [504, 'Endpoint request timed out', 'InternalServerErrorException'],
  MISSING_AUTHENTICATION_TOKEN: [403, 'Missing Authentication Token', 'MissingAuthenticationTokenException'],
  REQUEST_TOO_LARGE: [413, 'Request Too Long', 'RequestEntityTooLargeException'],
  THROTTLED: [429, 'Too Many Requests', 'TooManyRequestsException'],
  UNSUPPORTED_MEDIA_TYPE: [415, 'Unsupported Media Type', 'UnsupportedMediaTypeException'],
  UNAUTHORIZED: [401, 'Unauthorized', 'UnauthorizedException'],
} as const;

export class GatewayFailure extends Error {
  override readonly name = 'GatewayFailure';
  readonly responseType: keyof typeof FAILURES;
  readonly status: number;
  readonly errorType: string;
  /** The value of $context.error.message. AWS has none for a failed authorizer. */
  readonly text: string | null;

  constructor(responseType: keyof typeof FAILURES, text?: string) {
    const [status, defaultText, errorType] = FAILURES[responseType];
    super(text ?? defaultText ?? responseType);
    this.responseType = responseType;
    this.status = status;
    this.errorType = errorType;
    this.text = text ?? defaultText;
  }
}

/** The API's response for this failure, else its DEFAULT_4XX or DEFAULT_5XX, else AWS's default. */
export function renderGatewayResponse(
  api: ApiModel,
  failure: GatewayFailure,
  gatewayRequest: GatewayRequest,
): { status: number; headers: Record<string, string>; body: string } {
  const family = failure.status < 500 ? 'DEFAULT_4XX' : 'DEFAULT_5XX';
  const custom = api.gatewayResponses.get(failure.responseType) ?? api.gatewayResponses.get(family);
  const variables: Record<string, string> = {
    'context.error.message': failure.text ?? 'null',
    'context.error.messageString': JSON.stringify(failure.text),
    'context.error.responseType': failure.responseType,
    'context.extendedRequestId': gatewayRequest.extendedRequestId,
    'context.requestId': gatewayRequest.requestId,
  };
  const fill = (template: string) =>
    template.replace(/\$(context\.[A-Za-z.]*[A-Za-z])/g, (_, name: string) => variables[name] ?? '');
  const headerValue = (source: string): string => {
    const literal = /^'(.*)'$/.exec(source)?.[1];
    if (literal !== undefined) return literal;
    const header = /^method\.request\.header\.(.+)$/.exec(source)?.[1];
    return (header ? gatewayRequest.headerValue(header) : variables[source]) ?? '';
  };

  const [contentType = 'application/json', template] =
    Object.entries(custom?.ResponseTemplates ?? {})[0] ?? [];
  const customHeaders = Object.entries(custom?.ResponseParameters ?? {})
    .map(([name, source]) => [name.replace('gatewayresponse.header.', ''), headerValue(source)])
    .filter(([, value]) => value !== '');
  const headers = { 'Content-Type': contentType, 'x-amzn-ErrorType': failure.errorType };
  return {
    status: Number(custom?.StatusCode ?? failure.status),
    headers: { ...headers, ...Object.fromEntries(customHeaders) },
    body: template === undefined ? JSON.stringify({ message: failure.text }) : fill(template),
  };
}
