import { expect } from 'vitest';
import * as z from 'zod';
import {
  type ChatCompletion,
  type ChatCompletionChunk,
  chatCompletion,
  chatCompletionChunk,
} from '#contract/openai.ts';

import type { Call } from './client.ts';
import type { Service, Tenant } from './service.ts';

/** Requests to the OpenAI-compatible routes, over plain HTTP. Each response must have the form of the contract. */
export function openAiRequests(
  { baseUrl }: Pick<Service, 'baseUrl'>,
  { apiKey, agentId }: Pick<Tenant, 'apiKey' | 'agentId'>,
) {
  const request = (method: string, path: string, { body, headers, signal }: Call = {}): Promise<Response> =>
    fetch(`${baseUrl}/openai${path}`, {
      method,
      headers: { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json', ...headers },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      ...(signal !== undefined && { signal }),
    });
  /** `message` is the text of one user message. */
  const bodyOf = (fields: Record<string, unknown>) => {
    const { message = 'Hello', ...others } = fields;
    return { model: agentId, messages: [{ role: 'user', content: message }], ...others };
  };
  const send = (fields: Record<string, unknown> = {}, options: Omit<Call, 'body'> = {}) =>
    request('POST', '/chat/completions', { ...options, body: bodyOf(fields) });
  return {
    request,
    send,
    /** A whole reply. */
    async complete(fields: Record<string, unknown> = {}): Promise<ChatCompletion> {
      const response = await send(fields);
      const body = await response.json();
      expect([response.status, body]).toEqual([200, expect.anything()]);
      expect(response.headers.get('x-request-id')).toMatch(/./);
      expect(response.headers.get('content-type')).toBe('application/json');
      return chatCompletion.parse(body) as ChatCompletion;
    },
    /** A streamed reply to its end. */
    async stream(fields: Record<string, unknown> = {}) {
      const response = await send({ stream: true, ...fields });
      return linesOf(response);
    },
    /** The error of a rejected request. */
    async rejection(fields: Record<string, unknown> = {}) {
      return errorOf(await send(fields));
    },
  };
}

const openAiErrorBody = z.strictObject({
  error: z.object({
    message: z.string(),
    type: z.string(),
    param: z.string().nullable(),
    code: z.string().nullable(),
  }),
});

export async function errorOf(response: Response) {
  const { error } = openAiErrorBody.parse(await response.json());
  expect(response.headers.get('x-request-id')).toMatch(/./);
  expect(response.headers.get('cache-control')).toBe('no-store');
  return { status: response.status, headers: response.headers, ...error };
}

/** What a stream says, with each chunk checked. */
export async function linesOf(response: Response) {
  expect([response.status, response.headers.get('content-type')]).toEqual([
    200,
    'text/event-stream; charset=utf-8',
  ]);
  const lines = (await response.text()).split('\n\n');
  expect(lines.pop()).toBe('');
  const payloads = lines.map((line) => line.replace(/^data: /, ''));
  const isDone = payloads.at(-1) === '[DONE]';
  const parsed = payloads
    .slice(0, isDone ? -1 : undefined)
    .map((payload) => JSON.parse(payload) as ChatCompletionChunk | { error: Record<string, unknown> });
  const chunks = parsed.filter((line) => !('error' in line)) as ChatCompletionChunk[];
  for (const chunk of chunks) chatCompletionChunk.parse(chunk);
  return {
    chunks,
    isDone,
    errors: parsed.flatMap((line) => ('error' in line ? [line.error] : [])),
    text: chunks.map(({ choices: [choice] }) => choice?.delta.content ?? '').join(''),
    finishReasons: chunks.flatMap(({ choices: [choice] }) => choice?.finish_reason ?? []),
  };
}
