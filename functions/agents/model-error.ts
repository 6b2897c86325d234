import { APICallError } from '@ai-sdk/provider';
import { ModelFailure, type ModelFailureKind } from '#domain/platform/model-failure.ts';

/** Any error of a model's call, or inside its stream, as the domain knows it: without the provider's words. */
export function modelFailureOf(error: unknown): ModelFailure {
  if (error instanceof ModelFailure) return error;
  if (APICallError.isInstance(error)) return failureOfCall(error);
  if (error instanceof Error) {
    const code = networkCodeOf(error);
    return code === undefined
      ? new ModelFailure('failed', `The model failed with ${error.name}`)
      : new ModelFailure('unavailable', `The provider's answer broke off (${code})`);
  }
  return failureInStream(error);
}

function failureOfCall(error: APICallError): ModelFailure {
  const provider = `The provider at ${new URL(error.url).host}`;
  const { statusCode, responseHeaders = {} } = error;
  if (statusCode !== undefined && statusCode >= 400) {
    const kind = kindOf(
      statusCode,
      namesOf(error.data, responseHeaders['x-amzn-errortype']),
      error.responseBody ?? '',
    );
    return new ModelFailure(
      kind,
      `${provider} answered with status ${statusCode}`,
      retryAfterOf(responseHeaders),
    );
  }
  const code = networkCodeOf(error);
  if (statusCode === undefined)
    return new ModelFailure('unavailable', `${provider} could not be reached (${code ?? 'no reason given'})`);
  return code === undefined
    ? new ModelFailure('failed', `${provider} gave an answer that cannot be read`)
    : new ModelFailure('unavailable', `${provider} broke off its answer (${code})`);
}

/** Errors that a provider sends as a part of its stream are plain objects, with a status of the SDK's or without. */
function failureInStream(error: unknown): ModelFailure {
  const { statusCode, code } = fieldsOf(error);
  const status = Number(statusCode ?? code);
  const kind = kindOf(
    Number.isInteger(status) ? status : undefined,
    namesOf(error),
    JSON.stringify(error) ?? '',
  );
  return new ModelFailure(kind, `The model's stream told of an error (${kind})`);
}

/** A throttled call is told by its name alone too: AWS answers some with status 400, others say it only in words. */
function kindOf(status: number | undefined, names: string, text: string): ModelFailureKind {
  if (status === 429 || status === 529 || /throttl|rate.?limit|too.?many.?requests|overloaded/i.test(names))
    return 'throttled';
  if (status === 413 || saysTooLong.test(text)) return 'tooLong';
  if (status !== undefined && status >= 400)
    return temporary.has(status) || status >= 500 ? 'unavailable' : 'refused';
  if (/unavailable|not.?ready|time.?out|server.?error|server.?exception|model.?stream/i.test(names))
    return 'unavailable';
  return /invalid|validation|denied|permission|authentication|not.?found/i.test(names) ? 'refused' : 'failed';
}

/**
 * That a request is longer than a model's context window: servers have no common code for it, and most tell it in words
 * alone (OpenAI, Azure, LiteLLM, vLLM, llama.cpp, Text Generation Inference, and the models of Bedrock).
 */
const saysTooLong =
  /context.?(length|window(?!_fallback)|size|limit)|max(imum)? (prompt|model) length|(prompt|input|request) is too (long|large)|too many (input )?tokens|input.?tokens?\b.{0,60}\bexceed|inputs?.? tokens.{0,60} must be|exceed.{0,40}input tokens|reduce the length of/i;

/** Time-out, conflict, and 424: Bedrock's word for a model that failed at its work. */
const temporary: ReadonlySet<number> = new Set([408, 409, 424]);

/** What an error calls itself: OpenAI's `type` and `code`, inside `error` or not, and AWS's exception. */
function namesOf(data: unknown, exception = ''): string {
  const { error } = fieldsOf(data);
  const { type, code } = fieldsOf(error ?? data);
  return [type, code, exception].filter((name) => typeof name === 'string').join(' ');
}

const fieldsOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? { ...value } : {};

/** Such as ECONNREFUSED or UND_ERR_SOCKET: the first that the error or what caused it has. */
function networkCodeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && /^(E(?!RR_)[A-Z_]+|UND_ERR_[A-Z_]+|CERT_.+)$/.test(code)
    ? code
    : networkCodeOf(error.cause);
}

/** Milliseconds: `retry-after-ms`, or `Retry-After` as seconds or as a date. */
function retryAfterOf(headers: Record<string, string>): number | undefined {
  const milliseconds = numberOf(headers['retry-after-ms']);
  if (milliseconds !== undefined) return milliseconds;
  const seconds = numberOf(headers['retry-after']);
  if (seconds !== undefined) return seconds * 1000;
  const date = Date.parse(headers['retry-after'] ?? '');
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}

const numberOf = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : undefined;
