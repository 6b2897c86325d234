import { APICallError } from 'ai';
import { ModelFailure } from '#domain/model-failure.ts';

/** Any error of a model's call, or inside its stream, as the domain knows it. */
export function modelFailureOf(error: unknown): ModelFailure {
  if (error instanceof ModelFailure) return error;
  if (APICallError.isInstance(error)) {
    const outcome =
      error.statusCode === undefined
        ? `could not be reached (${codeOf(error)})`
        : `answered with status ${error.statusCode}`;
    return new ModelFailure('failed', `The provider at ${new URL(error.url).host} ${outcome}`);
  }
  return new ModelFailure('failed', `The model failed with ${error instanceof Error ? error.name : typeof error}`);
}

/** Such as ECONNREFUSED: the first that the error or what caused it has. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'no reason given';
  return 'code' in error && typeof error.code === 'string' ? error.code : codeOf(error.cause);
}
