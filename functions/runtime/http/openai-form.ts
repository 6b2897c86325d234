import type { Writable } from 'node:stream';
import { BodyTooLarge, type ErrorKind, ServiceError, serverErrorMessage } from '#contract/errors.ts';
import { endOfStream, jsonLine, type StreamEventBody } from '#contract/events.ts';
import { limits } from '#contract/limits.ts';
import type { TokenUsage } from '#contract/message.ts';
import { type ChatCompletionChunk, type FinishReason, invalidApiKey, OpenAiError } from '#contract/openai.ts';
import type { completionChunks } from '#domain/completions/completion.ts';
import type { Cancel, Clock } from '#domain/platform/services.ts';
import { log } from '#runtime/observability/log.ts';
import { callerOf } from './request.ts';
import { headersOf, type ResponseForm } from './response-form.ts';

/** 0 only with status 429: promptfoo treats 0 as a rejection, and would repeat a reply that is already paid. */
const remainingHeader = 'x-ratelimit-remaining-requests';

export const openAiForm: ResponseForm = {
  callerOf(request) {
    if (request.rejection === 'unauthenticated') throw invalidApiKey();
    return callerOf(request);
  },
  success: (data) => data,
  failure(error, requestId, headers = {}) {
    const known = openAiErrorOf(error);
    if (known.status >= 500) log.error('A request failed', { error, request_id: requestId });
    return {
      statusCode: known.status,
      headers: {
        ...headersOf(requestId),
        ...headers,
        ...known.headers,
        ...(known.status === 429 && { [remainingHeader]: '0' }),
        ...(known.retryAfter !== null && { 'Retry-After': String(known.retryAfter) }),
      },
      body: JSON.stringify({ error: errorObjectOf(known, requestId) }),
    };
  },
  rateHeaders: (headers) =>
    Object.fromEntries(
      Object.entries(headers)
        .map(([name, value]) => [`${name}-requests`, name === 'x-ratelimit-reset' ? `${value}s` : value])
        .filter(([name, value]) => name !== remainingHeader || value !== '0'),
    ),
  listStart: '{"object":"list","data":[',
  listEnd: () => ']}',
};

export const errorObjectOf = (error: OpenAiError, requestId: string) =>
  error.status >= 500
    ? { message: serverErrorMessage(requestId, error.reason), type: 'server_error', param: null, code: null }
    : { message: error.message, type: typeOf(error.status), param: error.param, code: error.code };

const typeOf = (status: number): string =>
  status === 403 ? 'permission_error' : status === 429 ? 'requests' : 'invalid_request_error';

const fieldsOf: Partial<Record<ErrorKind, { code: string; param?: string }>> = {
  accessDenied: { code: 'access_denied' },
  clientNotAllowed: { code: '14103', param: 'user' },
  rateLimited: { code: 'rate_limit_exceeded' },
};

const imagesTooLarge = () =>
  new OpenAiError(
    'badRequest',
    'The request body is too large: at most 6 MB, with about 4.5 MB of images. Send fewer or smaller images',
    { status: 413 },
  );

function openAiErrorOf(error: unknown): OpenAiError {
  if (error instanceof OpenAiError) return error;
  if (!(error instanceof ServiceError)) return new OpenAiError('serverError', 'Internal server error');
  const { kind, message, headers, reason, retryAfter } = error;
  if (kind === 'unauthenticated') return invalidApiKey();
  if (error instanceof BodyTooLarge) return imagesTooLarge();
  return new OpenAiError(kind, message.replace('external_user_id', 'user'), {
    ...fieldsOf[kind],
    headers,
    ...(reason !== undefined && { reason }),
    ...(retryAfter !== null && { retryAfter }),
  });
}

/** Proxies may close connections after 30 s of silence. */
const silenceMilliseconds = 15_000;

export type CompletionStream = ReturnType<typeof openCompletionStream>;

/**
 * The status waits for the first chunk of the reply or for 15 s of silence, so that an earlier failure has its own
 * status.
 * @param given.onSlowReader called when too much is unread. Then nothing more is written, and a later `end` throws:
 * clients treat a stream that ends normally as the whole text
 */
export function openCompletionStream(given: {
  open: () => Writable;
  chunks: ReturnType<typeof completionChunks>;
  clock: Clock;
  requestId: string;
  onSlowReader: () => void;
}) {
  const { chunks, clock } = given;
  let stream: Writable | undefined;
  let isTooSlow = false;
  let cancelSilence: Cancel = () => undefined;

  function write(text: string): void {
    if (isTooSlow) return;
    cancelSilence();
    if (stream === undefined) {
      stream = given.open();
      stream.write(textOf(chunks.role()));
    }
    stream.write(text);
    isTooSlow = stream.writableLength > limits.unreadStreamCharacters;
    if (isTooSlow) given.onSlowReader();
    else watchSilence();
  }
  function watchSilence(): void {
    cancelSilence = clock.after(silenceMilliseconds, () => write(textOf(chunks.silence())));
  }

  watchSilence();
  return {
    emit(event: StreamEventBody): void {
      for (const chunk of chunks.of(event)) write(textOf(chunk));
    },
    drop: (): void => cancelSilence(),
    isOpen: (): boolean => stream !== undefined,
    /**
     * Writes the end of the response, or the error.
     * @throws `outcome` if it is an error and the status was not sent; Error if the reader was too slow
     */
    end(outcome: FinishReason | OpenAiError, usage: TokenUsage): void {
      cancelSilence();
      if (isTooSlow) throw new Error('The reader of a stream was too slow');
      if (!(outcome instanceof OpenAiError))
        write([...chunks.end(outcome, usage).map(textOf), endOfStream].join(''));
      else if (stream === undefined) throw outcome;
      else write(`data: ${jsonLine({ error: errorObjectOf(outcome, given.requestId) })}\n\n`);
      cancelSilence();
    },
  };
}

const textOf = (chunk: ChatCompletionChunk): string => `data: ${jsonLine(chunk)}\n\n`;
