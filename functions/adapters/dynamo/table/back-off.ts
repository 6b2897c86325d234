import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { isThrottlingError, isTransientError } from '@smithy/core/retry';

export interface Pause {
  pauseUpTo(milliseconds: number): Promise<void>;
}

export const backOff = (table: Pause, attempt: number): Promise<void> =>
  table.pauseUpTo(Math.min(20 * 2 ** (attempt - 1), 320));

type SdkError = Parameters<typeof isTransientError>[0];

const successesForMore = 20;

/**
 * Bounds how many attempts of calls run at once, at first to `most`. Overload halves the bound, and successes raise it
 * again.
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
          // An attempt that began before the last halving belongs to the same overload.
          if (isOverload && halvings === halvingsBefore) halve();
          throw error;
        } finally {
          running -= 1;
          startNext();
        }
      },
    // Each attempt of a call is to wait for its turn.
    { name: 'adaptiveWidth', relation: 'after', toMiddleware: 'retryMiddleware' },
  );
}
