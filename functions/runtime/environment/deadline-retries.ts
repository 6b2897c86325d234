import { StandardRetryStrategy } from '@smithy/core/retry';
import { invocationContext } from './invocation-context.ts';

type Token = Parameters<StandardRetryStrategy['refreshRetryTokenForRetry']>[0];
type ErrorInfo = Parameters<StandardRetryStrategy['refreshRetryTokenForRetry']>[1];

/**
 * Milliseconds that a function needs after its last attempt to log, to report failed messages and to send its trace.
 */
export const reservedMilliseconds = 10_000;

/** The backoff in milliseconds doubles up to this value, so a call succeeds within 2 s of the end of an outage. */
const maxBackoff = 2000;

let commandRemaining: () => number | undefined = () => undefined;

/**
 * For operators' commands, which have no invocation: calls are retried as in a function that no client waits for.
 * @param remaining the milliseconds left for retries; undefined: calls have `maxAttempts` attempts
 */
export const retryWhile = (remaining: () => number | undefined): void => {
  commandRemaining = remaining;
};

/**
 * The retry strategy of AWS clients. In functions that a client waits for, calls have `maxAttempts` attempts. In
 * functions invoked by a queue, a schedule or the workflow, throttled and failed calls are retried with full jitter
 * until the function's time runs out, so that finished work such as a model's reply is not lost. Client errors have no
 * such retries.
 */
export class DeadlineRetries extends StandardRetryStrategy {
  override async refreshRetryTokenForRetry(token: Token, error: ErrorInfo): Promise<Token> {
    const remaining = (invocationContext().getStore()?.remainingMilliseconds ?? commandRemaining)();
    if (remaining === undefined || error.errorType === 'CLIENT_ERROR')
      return super.refreshRetryTokenForRetry(token, error);
    const retries = token.getRetryCount() + 1;
    const wait = Math.random() * Math.min(50 * 2 ** retries, maxBackoff);
    if (remaining - wait < reservedMilliseconds) throw new Error('No time is left for another attempt');
    return { getRetryCount: () => retries, getRetryDelay: () => wait, getRetryCost: () => undefined };
  }
}
