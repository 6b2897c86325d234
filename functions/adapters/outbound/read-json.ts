import type * as z from 'zod';
import { OutboundFailure } from '#domain/platform/outbound-failure.ts';
import { type OutboundRequest, sendOutbound } from './send-outbound.ts';

/**
 * Sends a GET to a service that an operator configured, and validates the JSON of its response.
 * @throws OutboundFailure `refused` for any status but 200, `unreadable` if the response does not match the schema
 */
export async function readJson<Value>(
  request: Pick<OutboundRequest, 'url' | 'headers' | 'times' | 'maxBytes' | 'signal'>,
  schema: z.ZodType<Value>,
): Promise<Value> {
  const { status, body } = await sendOutbound({
    ...request,
    method: 'GET',
    headers: { Accept: 'application/json', ...request.headers },
    rules: undefined,
    redirects: 0,
  });
  if (status === 429) throw new OutboundFailure('refused', 'The service takes no more requests for now');
  if (status !== 200) throw new OutboundFailure('refused', `The service answered with status ${status}`);
  const response = schema.safeParse(parseJson(body.toString()));
  if (!response.success)
    throw new OutboundFailure('unreadable', "The service's answer is not what it should be");
  return response.data;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
