import {
  type ResponseType as GatewayResponseType,
  ResponseType,
  type RestApi,
} from 'aws-cdk-lib/aws-apigateway';
import { corsHeaders } from '#contract/cors.ts';
import { failure } from '#contract/envelope.ts';
import {
  type ErrorKind,
  errorTable,
  requestTooLarge,
  serverErrorMessage,
  unauthenticatedMessage,
} from '#contract/errors.ts';

interface GatewayResponseBody {
  kind: ErrorKind;
  message: string;
}

const unauthenticated = { kind: 'unauthenticated', message: unauthenticatedMessage } as const;
const accessDenied = { kind: 'accessDenied', message: 'Access denied' } as const;
const notFound = { kind: 'notFound', message: 'Resource not found' } as const;
const badRequest = { kind: 'badRequest', message: 'Bad request' } as const;
const tooLarge = { kind: 'badRequest', message: requestTooLarge } as const;
const rateLimited = { kind: 'rateLimited', message: 'Rate limit exceeded' } as const;
const serverError = { kind: 'serverError', message: serverErrorMessage('$context.requestId') } as const;

/**
 * The body for every type of response that the gateway itself can give. A type that is not here has the status and the
 * body of `DEFAULT_4XX` or `DEFAULT_5XX`: each entry is a resource, and a stack may have 500.
 */
const responses: readonly (readonly [GatewayResponseType, GatewayResponseBody])[] = [
  [ResponseType.UNAUTHORIZED, unauthenticated],
  [ResponseType.INVALID_API_KEY, unauthenticated],
  [ResponseType.INVALID_SIGNATURE, unauthenticated],
  [ResponseType.EXPIRED_TOKEN, unauthenticated],
  [ResponseType.ACCESS_DENIED, accessDenied],
  [ResponseType.WAF_FILTERED, accessDenied],
  // API Gateway's response to an unknown path or method.
  [ResponseType.MISSING_AUTHENTICATION_TOKEN, notFound],
  [ResponseType.RESOURCE_NOT_FOUND, notFound],
  [ResponseType.REQUEST_TOO_LARGE, tooLarge],
  [ResponseType.DEFAULT_4XX, badRequest],
  [ResponseType.THROTTLED, rateLimited],
  [ResponseType.QUOTA_EXCEEDED, rateLimited],
  [ResponseType.DEFAULT_5XX, serverError],
];

/** Gives every response of the gateway itself the envelope of the service. */
export function addGatewayResponses(api: RestApi, corsOrigin: string | undefined): void {
  const cors = corsOrigin === undefined ? {} : quoted(corsHeaders(corsOrigin));
  for (const [type, { kind, message }] of responses) {
    const { status, errorCode } = errorTable[kind];
    api.addGatewayResponse(type.responseType, {
      type,
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
    });
  }
}

/** Header values with the single quotes that API Gateway requires around static values. */
export const quoted = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, `'${value}'`]));
