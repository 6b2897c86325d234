import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { isThrottlingError, isTransientError } from '@smithy/core/retry';

/** The part of a table that lets callers wait by the table's clock, for a random time of at most `milliseconds`. */
export interface Pause {
  pauseUpTo(milliseconds: number): Promise<void>;
}

/** Waits for a random time: up to 20 ms after the first attempt, doubled for each further attempt, at most 320 ms. */
export const backOff = (table: Pause, attempt: number): Promise<void> =>
  table.pauseUpTo(Math.min(20 * 2 ** (attempt - 1), 320));

type SdkError = Parameters<typeof isTransientError>[0];

/**
 * Each time that this many attempts have succeeded since the last halving, the bound rises by one, up to the one at the
 * start.
 */
const successesForMore = 20;

/**
 * Bounds how many attempts of the client's calls run at once. Overload, such as a throttled attempt, halves the bound;
 * successes raise it slowly.
 * @param most the bound at the start, which is never exceeded
 */
export function adaptWidth(client: DynamoDBClient, most: number): void {
  let width = most;
  let running = 0;
  let successes = 0;
  let halvings = 0;
  const waiting: (() => void)[] = [];
  const startNext = (): void => {
    for (; running < width && waiting.length > 0; running += 1) waiting.shift()?.();
  };
  const halve = (): void => {
    width = Math.max(Math.floor(width / 2), 1);
    halvings += 1;
    successes = 0;
  };
  client.middlewareStack.addRelativeTo(
    <Input, Output>(next: (input: Input) => Promise<Output>) =>
      async (input: Input): Promise<Output> => {
        await new Promise<void>((resolve) => {
          waiting.push(resolve);
          startNext();
        });
        const halvingsBefore = halvings;
        try {
          const output = await next(input);
          successes += 1;
          if (successes % successesForMore === 0) width = Math.min(width + 1, most);
          return output;
        } catch (error) {
          const failure = error as SdkError;
          const isOverload = isThrottlingError(failure) || isTransientError(failure);
          // Failures of attempts that ran at the same time count as one overload.
          if (isOverload && halvings === halvingsBefore) halve();
          throw error;
        } finally {
          running -= 1;
          startNext();
        }
      },
    // This middleware runs after that of retries, so that each attempt waits for its turn.
    { name: 'adaptiveWidth', relation: 'after', toMiddleware: 'retryMiddleware' },
  );
}
