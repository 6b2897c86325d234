import type { APIGatewayProxyResult } from 'aws-lambda';
import { corsHeaders } from '#contract/cors.ts';
import { type Envelope, failure } from '#contract/envelope.ts';
import { errorTable, ServiceError, serverErrorMessage } from '#contract/errors.ts';
import { environment } from '#runtime/environment/environment.ts';
import { log } from '#runtime/observability/log.ts';

export function headersOf(requestId: string, contentType = 'application/json'): Record<string, string> {
  const corsOrigin = environment('corsOrigin');
  return {
    'Content-Type': contentType,
    // A response belongs to one caller, but a shared cache may ignore the API key.
    'Cache-Control': 'no-store',
    'x-request-id': requestId,
    ...(corsOrigin !== undefined && corsHeaders(corsOrigin)),
  };
}

export const jsonResponse = (
  status: number,
  envelope: Envelope,
  requestId: string,
  headers: Record<string, string> = {},
): APIGatewayProxyResult => ({
  statusCode: status,
  headers: { ...headersOf(requestId), ...headers },
  body: JSON.stringify(envelope),
});

/** The response to a failed request. The text of a 5xx is only logged; the client gets the request id. */
export function failureResponse(
  error: unknown,
  requestId: string,
  baseHeaders: Record<string, string> = {},
): APIGatewayProxyResult {
  const errorHeaders = error instanceof ServiceError ? error.headers : {};
  const headers = { ...baseHeaders, ...errorHeaders };
  if (error instanceof ServiceError && error.status < 500)
    return jsonResponse(error.status, failure(error.errorCode, error.message, error.data), requestId, {
      ...headers,
      ...(error.retryAfter !== null && { 'Retry-After': String(error.retryAfter) }),
    });
  log.error('A request failed', { error, request_id: requestId });
  const { status, errorCode } = errorTable.serverError;
  const { reason, data = null } = error instanceof ServiceError ? error : {};
  const message = serverErrorMessage(requestId, reason);
  const responseData = data && { ...data, error_msg: message };
  return jsonResponse(status, failure(errorCode, message, responseData), requestId, headers);
}
