import { AISDKError, APICallError } from '@ai-sdk/provider';
import { ModelFailure, type ModelFailureKind } from '#domain/platform/failures.ts';
import { jsonIn } from '#domain/platform/parse-json.ts';
import { fieldsOf } from './models/completions/tool-call-deltas.ts';

/**
 * Without the provider's message: it may quote the prompt, and failures are logged.
 * @param now in milliseconds since 1970
 */
export function modelFailureOf(error: unknown, now: number): ModelFailure {
  if (error instanceof ModelFailure) return error;
  if (APICallError.isInstance(error)) return failureOfCall(error, now);
  if (!(error instanceof Error)) return failureInStream(error);
  const code = networkCodeOf(error);
  if (code !== undefined) return new ModelFailure('unavailable', `The provider's answer broke off (${code})`);
  const failure = new ModelFailure('failed', `The model failed with ${error.name}`);
  failure.cause = withoutMessage(error);
  return failure;
}

/**
 * For errors before a model's first output. An Error such as that of an API key that cannot be read is no ModelFailure,
 * and loses its message.
 */
export function errorOfCall(error: unknown, now: number): ModelFailure | Error {
  const isOwn =
    error instanceof Error &&
    !(error instanceof ModelFailure || AISDKError.isInstance(error)) &&
    // `fetch` throws a TypeError with a cause if it gets no response.
    !(error instanceof TypeError && networkCodeOf(error) !== undefined);
  return isOwn ? withoutMessage(error) : modelFailureOf(error, now);
}

/** The message of a parser may quote what it reads. */
function withoutMessage({ name, message, stack = '' }: Error): Error {
  const error = new Error(`A call of a model failed with ${name}`);
  const start = stack.indexOf(message);
  if (start >= 0) error.stack = `${error.name}: ${error.message}${stack.slice(start + message.length)}`;
  return error;
}

function failureOfCall(error: APICallError, now: number): ModelFailure {
  const { url, statusCode, responseHeaders: headers = {}, responseBody = '' } = error;
  const provider = `The provider at ${new URL(url).host}`;
  if (statusCode !== undefined && statusCode >= 400) {
    const data = jsonIn(responseBody);
    const exception = headers['x-amzn-errortype'];
    const names = namesOf(data, exception);
    const kind = kindOf(statusCode, names, responseBody);
    const message = `${provider} answered with status ${statusCode}${typeAndCodeOf(data, exception)}`;
    return new ModelFailure(kind, message, retryAfterOf(headers, now), isOfContent(kind, statusCode, names));
  }
  const code = networkCodeOf(error);
  if (statusCode === undefined)
    return new ModelFailure('unavailable', `${provider} could not be reached (${code ?? 'no reason given'})`);
  return code === undefined
    ? new ModelFailure('failed', `${provider} sent a response that cannot be parsed`)
    : new ModelFailure('unavailable', `${provider} broke off its answer (${code})`);
}

/** An error that a provider sends inside the stream may be no `Error`, and may lack the SDK's `statusCode`. */
function failureInStream(error: unknown): ModelFailure {
  const { statusCode, code } = fieldsOf(error) ?? {};
  const number = Number(statusCode ?? code);
  const status = Number.isInteger(number) && number >= 400 ? number : undefined;
  const names = namesOf(error);
  const kind = kindOf(status, names, JSON.stringify(error) ?? '');
  const message = `The model's stream reported an error (${kind})${typeAndCodeOf(error)}`;
  return new ModelFailure(kind, message, undefined, isOfContent(kind, status, names));
}

/** AWS throttles some calls with status 400, and streamed errors may have no status, so the names count too. */
function kindOf(status: number | undefined, names: string, text: string): ModelFailureKind {
  if (status === 429 || status === 529 || /throttl|rate.?limit|too.?many.?requests|overloaded/i.test(names))
    return 'throttled';
  if (status === 413 || isContextLengthError(text)) return 'tooLong';
  if (status !== undefined && status >= 400)
    return temporaryStatuses.has(status) || status >= 500 ? 'unavailable' : 'refused';
  if (/unavailable|not.?ready|time.?out|server.?error|server.?exception|model.?stream/i.test(names))
    return 'unavailable';
  return accessNames.test(names) || contentNames.test(names) ? 'refused' : 'failed';
}

const accessNames = /denied|permission|auth|api.?key|credential|expired|not.?found/i;
const contentNames = /invalid|validation|content.?(?:filter|policy)|guardrail|moderation|safety/i;

/** A refusal with a status is judged by the status alone, because providers spell names differently. */
const isOfContent = (kind: ModelFailureKind, status: number | undefined, names: string): boolean =>
  kind === 'tooLong' ||
  (kind === 'refused' &&
    (status === undefined ? !accessNames.test(names) : status === 400 || status === 413 || status === 422));

/** Servers have no common code for a request that exceeds the context window, so this searches their texts. */
const isContextLengthError = (text: string): boolean =>
  contextLengthPhrases.test(text) ||
  follows(text, /input.?tokens?\b/gi, /\bexceed/i) ||
  follows(text, /inputs?.? tokens/gi, / must be/i) ||
  follows(text, /exceed/gi, /input tokens/i);

const contextLengthPhrases =
  /context.?(?:length|window(?!_fallback)|size|limit)|max(?:imum)? (?:prompt|model) length|(?:prompt|input|request) is too (?:long|large)|too many (?:input )?tokens|reduce the length of/i;

const follows = (text: string, first: RegExp, second: RegExp): boolean =>
  [...text.matchAll(first)].some(({ index, 0: { length } }) =>
    second.test(text.slice(index + length, index + length + 60)),
  );

/** 424 is Bedrock's status for a model that failed while it processed the request. */
const temporaryStatuses: ReadonlySet<number> = new Set([408, 409, 424]);

function namesOf(data: unknown, exception = ''): string {
  const { error } = fieldsOf(data) ?? {};
  const { type, code } = fieldsOf(error ?? data) ?? {};
  return [type, code, exception].filter((name) => typeof name === 'string').join(' ');
}

/** Leaves out what is no name: some servers put a sentence there, which may quote the prompt. */
function typeAndCodeOf(data: unknown, exception?: string): string {
  const { error } = fieldsOf(data) ?? {};
  const { type = exception?.split(':')[0], code } = fieldsOf(error ?? data) ?? {};
  const found = Object.entries({ type, code })
    .map(([name, value]) => [name, typeof value === 'number' ? String(value) : value] as const)
    .filter(([, value]) => typeof value === 'string' && /^[\w.-]{1,64}$/.test(value));
  return found.length === 0 ? '' : ` (${found.map(([name, value]) => `${name} ${value}`).join(', ')})`;
}

export function networkCodeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && /^(E(?!RR_)[A-Z_]+|UND_ERR_[A-Z_]+|CERT_.+)$/.test(code)
    ? code
    : networkCodeOf(error.cause);
}

function retryAfterOf(headers: Record<string, string>, now: number): number | undefined {
  const { 'retry-after-ms': milliseconds = '', 'retry-after': text = '' } = headers;
  const until = /^[A-Z].* GMT$/.test(text) ? Date.parse(text) - now : 0;
  return [numberOf(milliseconds), numberOf(text) * 1000, until].find((time) => time > 0);
}

const numberOf = (text: string): number => (/^\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : 0);
