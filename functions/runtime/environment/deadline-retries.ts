import { StandardRetryStrategy } from '@smithy/core/retry';

type Token = Parameters<StandardRetryStrategy['refreshRetryTokenForRetry']>[0];
type ErrorInfo = Parameters<StandardRetryStrategy['refreshRetryTokenForRetry']>[1];

const remainingKey = Symbol.for('agent-service.remaining-milliseconds');

/** Of the process: a part of a function that is loaded late has a copy of this module. */
const invocation = globalThis as { [remainingKey]?: () => number };

/** Until the next call, calls to AWS are retried as long as this time allows. */
export function retryWhile(remaining: () => number): void {
  invocation[remainingKey] = remaining;
}

/** What a function needs at its end, after the last attempt: to log, to report failed messages, to send its trace. */
const reservedMilliseconds = 10_000;

/** Waits double from 50 ms up to here: a call succeeds within two seconds of the end of an outage. */
const longestWait = 2000;

/**
 * Attempts of calls to AWS. Where a client waits for the function, there are as many as `maxAttempts` says. Behind a
 * queue, a schedule or the workflow, a call that is throttled, or that meets an outage, is retried with full jitter as
 * long as the function's time allows: work that is done, such as a model's reply, is not thrown away.
 */
export class DeadlineRetries extends StandardRetryStrategy {
  override async refreshRetryTokenForRetry(token: Token, error: ErrorInfo): Promise<Token> {
    const remainingMilliseconds = invocation[remainingKey];
    if (remainingMilliseconds === undefined || error.errorType === 'CLIENT_ERROR')
      return super.refreshRetryTokenForRetry(token, error);
    const retries = token.getRetryCount() + 1;
    const wait = Math.random() * Math.min(50 * 2 ** retries, longestWait);
    if (remainingMilliseconds() - wait < reservedMilliseconds)
      throw new Error('No time is left for another attempt');
    return {
      getRetryCount: () => retries,
      getRetryDelay: () => wait,
      getRetryCost: () => undefined,
    };
  }
}
