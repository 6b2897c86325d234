import type { ErrorReport } from './messages.ts';

/** The error that Lambda returns to the caller for a thrown value. */
export function reportError(thrown: unknown): ErrorReport {
  if (!(thrown instanceof Error))
    return { errorType: typeof thrown, errorMessage: String(thrown), trace: [] };
  return { errorType: thrown.name, errorMessage: thrown.message, trace: thrown.stack?.split('\n') ?? [] };
}
