import {
  APICallError,
  type LanguageModelV4GenerateResult,
  type LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { networkCodeOf } from '#agents/model-error.ts';
import { ModelFailure } from '#domain/platform/failures.ts';
import type { SkippedEvent } from '../completions/completion-request.ts';
import { httpFetch } from './http-fetch.ts';
import { type Images, withImages } from './image-tokens.ts';

/** About how much of an error response is read. */
const errorCharacters = 64 * 1024;

/** Of the text of a call without a stream, such as one for a title. A longer text is a failure. */
const plainCharacters = 64 * 1024;

export interface ModelServer {
  baseUrl: () => string;
  /** Called for each model call, so it must cache the key itself. */
  apiKey: () => Promise<string>;
  onSkipped: (model: string, kind: SkippedEvent, count: number) => void;
}

/**
 * @param path begins with a slash
 * @throws for example ModelFailure if the server cannot be reached; APICallError for an error response; the signal's
 * reason
 */
export async function postCall(
  server: ModelServer,
  path: string,
  content: object,
  { images, signal }: { images: Images; signal: AbortSignal | undefined },
): Promise<ReadableStream<Uint8Array>> {
  const url = `${server.baseUrl().replace(/\/$/, '')}${path}`;
  const body = JSON.stringify(content);
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${await server.apiKey()}` };
  const request = { method: 'POST', headers, body, ...(signal && { signal }) };
  const response = await httpFetch(url, withImages(images, request)).catch((error: unknown) => {
    throw signal?.aborted ? error : unreachable(url, error);
  });
  if (!response.ok) throw await failureOf(url, response);
  return response.body ?? ReadableStream.from([]);
}

const unreachable = (url: string, error: unknown): ModelFailure =>
  new ModelFailure(
    'unavailable',
    `The provider at ${new URL(url).host} could not be reached (${networkCodeOf(error) ?? 'no reason given'})`,
  );

async function failureOf(url: string, { status, headers, body }: Response): Promise<APICallError> {
  const decoder = new TextDecoder();
  let text = '';
  try {
    for await (const chunk of body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      if (text.length >= errorCharacters) break;
    }
  } catch {
    // The status says enough.
  }
  return new APICallError({
    message: 'An error response',
    ...{ url, requestBodyValues: undefined, statusCode: status, responseBody: text },
    responseHeaders: Object.fromEntries(headers),
  });
}

/** @throws the error of an error part; ModelFailure if the text is too long, or if the stream has no finish part */
export async function collect(
  stream: ReadableStream<LanguageModelV4StreamPart>,
): Promise<LanguageModelV4GenerateResult> {
  let text = '';
  const calls: Extract<LanguageModelV4StreamPart, { type: 'tool-call' }>[] = [];
  for await (const part of stream) {
    if (part.type === 'error') throw part.error;
    if (part.type === 'text-delta') text += part.delta;
    if (part.type === 'tool-call') calls.push(part);
    if (part.type === 'finish') {
      const { finishReason, usage } = part;
      const texts = text === '' ? [] : [{ type: 'text' as const, text }];
      return { content: [...texts, ...calls], finishReason, usage, warnings: [] };
    }
    if (text.length > plainCharacters) break;
  }
  throw new ModelFailure('failed', 'The model returned more than a call without a stream may');
}
