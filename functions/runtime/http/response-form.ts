import { errorTable, failure, ServiceError, serverErrorMessage, success } from '#contract/errors.ts';
import { corsHeaders } from '#contract/headers.ts';
import type { Pagination } from '#contract/pagination-object.ts';
import type { Caller } from '#domain/workspaces/api-keys.ts';
import { environment } from '#runtime/environment/environment.ts';
import { log } from '#runtime/observability/log.ts';
import { callerOf, type Request } from './request.ts';

export interface WholeResponse {
  statusCode: number;
  headers: Record<string, string>;
  body: string;
}

export interface ResponseForm {
  /** @throws ServiceError without a caller, or if the key has expired */
  callerOf(request: Request): Caller;
  success(data: unknown, message: string | null): unknown;
  failure(error: unknown, requestId: string, headers?: Record<string, string>): WholeResponse;
  rateHeaders(headers: Record<string, string>): Record<string, string>;
  listStart: string;
  listEnd(pagination: Pagination | undefined): string;
}

export function headersOf(requestId: string): Record<string, string> {
  const corsOrigin = environment('corsOrigin');
  return {
    'Content-Type': 'application/json',
    // A response belongs to one caller, but a shared cache may ignore the API key.
    'Cache-Control': 'no-store',
    'x-request-id': requestId,
    ...(corsOrigin !== undefined && corsHeaders(corsOrigin)),
  };
}

/** The message of a 5xx is not sent: the response has the error's `reason`, or a general text. */
export function failureResponse(
  error: unknown,
  requestId: string,
  baseHeaders: Record<string, string> = {},
): WholeResponse {
  const known = error instanceof ServiceError ? error : undefined;
  const headers = { ...headersOf(requestId), ...baseHeaders, ...known?.headers };
  if (known !== undefined && known.status < 500)
    return {
      statusCode: known.status,
      headers: { ...headers, ...(known.retryAfter !== null && { 'Retry-After': String(known.retryAfter) }) },
      body: JSON.stringify(failure(known.errorCode, known.message, known.data)),
    };
  log.error('A request failed', { error, request_id: requestId });
  const { status, errorCode } = errorTable.serverError;
  const message = serverErrorMessage(requestId, known?.reason);
  const data = known?.data ? { ...known.data, error_msg: message } : null;
  return { statusCode: status, headers, body: JSON.stringify(failure(errorCode, message, data)) };
}

export const envelopeForm: ResponseForm = {
  callerOf,
  success,
  failure: failureResponse,
  rateHeaders: (headers) => headers,
  listStart: '{"data":[',
  listEnd: (pagination) =>
    `],"message":null,"error_code":0${pagination === undefined ? '' : `,"pagination":${JSON.stringify(pagination)}`}}`,
};
