import {
  AuthorizationType,
  type ResponseType as GatewayResponseType,
  type IResource,
  MockIntegration,
  PassthroughBehavior,
  ResponseType,
  type RestApi,
} from 'aws-cdk-lib/aws-apigateway';
import { Validations } from 'aws-cdk-lib/core';
import {
  type ErrorKind,
  errorTable,
  failure,
  requestTooLarge,
  serverErrorMessage,
  unauthenticatedMessage,
} from '#contract/errors.ts';
import { allowedHeaders, allowedMethods, corsHeaders } from '#contract/headers.ts';

/** Each type is a resource, and a stack may have 500, so not all types are here. */
const responses: readonly (readonly [ErrorKind, message: string, ...GatewayResponseType[]])[] = [
  [
    'unauthenticated',
    unauthenticatedMessage,
    ResponseType.UNAUTHORIZED,
    ResponseType.INVALID_API_KEY,
    ResponseType.INVALID_SIGNATURE,
    ResponseType.EXPIRED_TOKEN,
  ],
  ['accessDenied', 'Access denied', ResponseType.ACCESS_DENIED, ResponseType.WAF_FILTERED],
  // API Gateway's response to an unknown path or method is MISSING_AUTHENTICATION_TOKEN.
  [
    'notFound',
    'Resource not found',
    ResponseType.MISSING_AUTHENTICATION_TOKEN,
    ResponseType.RESOURCE_NOT_FOUND,
  ],
  ['badRequest', requestTooLarge, ResponseType.REQUEST_TOO_LARGE],
  ['badRequest', 'Bad request', ResponseType.DEFAULT_4XX],
  ['rateLimited', 'Rate limit exceeded', ResponseType.THROTTLED, ResponseType.QUOTA_EXCEEDED],
  ['serverError', serverErrorMessage('$context.requestId'), ResponseType.DEFAULT_5XX],
];

export function addGatewayResponses(api: RestApi, corsOrigin: string | undefined): void {
  const cors = corsOrigin === undefined ? {} : quoted(corsHeaders(corsOrigin));
  for (const [kind, message, ...types] of responses) {
    const { status, errorCode } = errorTable[kind];
    const response = {
      statusCode: String(status),
      responseHeaders: {
        'Content-Type': "'application/json'",
        'Cache-Control': "'no-store'",
        'x-request-id': 'context.requestId',
        ...cors,
        // The gateway's throttle limits requests per second.
        ...(kind === 'rateLimited' && { 'Retry-After': "'1'" }),
      },
      templates: { 'application/json': JSON.stringify(failure(errorCode, message)) },
    };
    for (const type of types) api.addGatewayResponse(type.responseType, { type, ...response });
  }
}

/** API Gateway requires single quotes around static values. */
const quoted = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, `'${value}'`]));

/** Browsers may keep a preflight's response, and so the old settings, for this long. Chromium's maximum is 2 h. */
export const preflightSeconds = 600;

/** @param origin undefined where a distribution adds the headers */
export function addPreflight(resource: IResource, origin: string | undefined): void {
  const headers = Object.entries(origin === undefined ? {} : quoted(preflightHeaders(origin))).map(
    ([name, value]) => [`method.response.header.${name}`, value] as const,
  );
  const method = resource.addMethod(
    'OPTIONS',
    new MockIntegration({
      requestTemplates: { 'application/json': '{"statusCode":204}' },
      // If API Gateway passed a body through, the mock would fail with a 500, which the alarms count.
      passthroughBehavior: PassthroughBehavior.NEVER,
      integrationResponses: [{ statusCode: '204', responseParameters: Object.fromEntries(headers) }],
    }),
    {
      // Without this the method has the API's authorizer.
      authorizer: { authorizerId: '', authorizationType: AuthorizationType.NONE },
      methodResponses: [
        { statusCode: '204', responseParameters: Object.fromEntries(headers.map(([name]) => [name, true])) },
      ],
    },
  );
  Validations.of(method).acknowledge({
    id: 'AwsSolutions-APIG4',
    reason: 'Browsers send preflights without an API key; the response only says what they may send.',
  });
}

const preflightHeaders = (origin: string): Record<string, string> => ({
  ...corsHeaders(origin),
  'Access-Control-Allow-Methods': allowedMethods.join(', '),
  'Access-Control-Allow-Headers': allowedHeaders.join(', '),
  'Access-Control-Max-Age': String(preflightSeconds),
});
