import type { APIGatewayProxyResult } from 'aws-lambda';
import { success } from '#contract/envelope.ts';
import type { Caller } from '#domain/workspaces/authorize-request.ts';
import { failureResponse } from './http-response.ts';
import { callerOf, type RequestEvent } from './read-request.ts';

/** How the routes of one interface say who calls, what succeeded and what failed. */
export interface ResponseForm {
  /** @throws ServiceError without a caller */
  callerOf(event: RequestEvent): Caller;
  success(data: unknown, message: string | null): unknown;
  failure(error: unknown, requestId: string, headers?: Record<string, string>): APIGatewayProxyResult;
  rateHeaders(headers: Record<string, string>): Record<string, string>;
}

/** The form of the service's own interface. */
export const envelopeForm: ResponseForm = {
  callerOf,
  success,
  failure: failureResponse,
  rateHeaders: (headers) => headers,
};
