import { chatRoutes } from '#lib/chat-routes.ts';
import { pascalCase } from '#lib/function-names.ts';
import { assumptions, secondsOf } from './assumptions.ts';
import { daysPerMonth } from './fixed-costs.ts';
import { priceOf } from './prices.ts';

const { environmentGigabytes, memoryGigabytes, processorMilliseconds, requestsPerEnvironment } = assumptions;

/** The functions that a web function replaces with the setting `webFunctions: all`. */
const replaced = new Set(chatRoutes.map(pascalCase));

const monthSeconds = daysPerMonth * 86_400;
const replySeconds = secondsOf('SendMessage');

/**
 * Of an invocation, or of the request to the web function that replaces it.
 * @param concurrency the mean number of requests in an environment of the web function; undefined if Lambda functions
 *   serve the routes
 */
export function dollarsOfInvocation(name: string, concurrency?: number): number {
  if (concurrency === undefined || !replaced.has(name))
    return priceOf('invocation') + secondsOf(name) * memoryGigabytes * priceOf('gigabyteSecond');
  return (
    priceOf('invocation') +
    (processorMilliseconds / 1000) * priceOf('processorSecond') +
    (secondsOf(name) / concurrency) * environmentGigabytes * priceOf('environmentGigabyteSecond')
  );
}

/**
 * The concurrency at which a message costs the same with a web function and with a Lambda function.
 * @param factor multiplies all rates of the web function
 */
export function breakEvenConcurrency(factor = 1): number {
  const withoutMemory = dollarsOfInvocation('SendMessage', Number.POSITIVE_INFINITY);
  const memoryAlone = dollarsOfInvocation('SendMessage', 1) - withoutMemory;
  return (factor * memoryAlone) / (dollarsOfInvocation('SendMessage') - factor * withoutMemory);
}

/** The messages a month that give one environment this concurrency. */
export const messagesAt = (concurrency: number): number => (concurrency * monthSeconds) / replySeconds;

/** With the messages spread evenly over the month, and over as few environments as can serve them. */
export function evenConcurrency(messages: number): number {
  const underWay = messages / messagesAt(1);
  return underWay / Math.max(1, Math.ceil(underWay / requestsPerEnvironment));
}

export const environmentMonthDollars = (): number =>
  monthSeconds * environmentGigabytes * priceOf('environmentGigabyteSecond');
