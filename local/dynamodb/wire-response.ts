import type { DynamoError } from './dynamo-error.ts';

export interface WireResponse {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: Buffer;
}

export function errorResponse({ status, body }: DynamoError): WireResponse {
  return jsonResponse(status, body, undefined);
}

export function jsonResponse(
  status: number,
  body: unknown,
  requestId: string | string[] | undefined,
): WireResponse {
  return {
    status,
    headers: {
      'content-type': 'application/x-amz-json-1.0',
      'x-amzn-requestid': requestId ?? crypto.randomUUID(),
    },
    body: Buffer.from(JSON.stringify(body)),
  };
}
