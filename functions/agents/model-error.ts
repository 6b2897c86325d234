import { APICallError } from 'ai';

/** A model's failure without its words: what a provider answers may quote the prompt, and this is logged. */
export class ModelError extends Error {
  override readonly name = 'ModelError';
}

export function modelErrorOf(error: unknown): ModelError {
  const last = lastOf(error);
  if (last instanceof ModelError) return last;
  if (APICallError.isInstance(last)) {
    const outcome =
      last.statusCode === undefined
        ? `could not be reached (${codeOf(last)})`
        : `answered with status ${last.statusCode}`;
    return new ModelError(`The provider at ${new URL(last.url).host} ${outcome}`);
  }
  return new ModelError(`The model failed with ${last instanceof Error ? last.name : typeof last}`);
}

/** Such as ECONNREFUSED: the first that the error or what caused it has. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'no reason given';
  return 'code' in error && typeof error.code === 'string' ? error.code : codeOf(error.cause);
}

/** What the last of several tries failed with. */
function lastOf(error: unknown): unknown {
  return error instanceof Error && 'lastError' in error ? error.lastError : error;
}
