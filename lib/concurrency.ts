import type { FunctionName } from './function-names.ts';

/**
 * Lambda always leaves this concurrency to functions without a reservation. It rejects a reservation that would leave
 * less.
 */
export const minUnreservedExecutions = 100;

/**
 * With fewer concurrent replies, Lambda would throttle the burst of one API key: ten sends at once
 * (`rateLimits.sends`).
 */
const minSends = 10;

/** With 25 requests each, 20 workers process 500 requests at once. */
const usualWorkers = 20;

/** Lambda's minimum for the maximum concurrency of an event source. Dead letters are rare. */
const deadLetterHandlers = 2;

/** Lambda's minimum as well. A purge may wait: the chat is deleted for clients. */
const purgers = 2;

/**
 * Functions that may run for long and whose number of invocations has no limit. Their reservation is a ceiling, so that
 * they cannot use up the account's concurrency. Callers retry a throttled invocation.
 */
const longRunning: Partial<Record<FunctionName, number>> = {
  // A file takes 1.5 s, so 50 executions prepare 33 files a second. A message can attach ten files.
  'prepare-attachment': 50,
  // A receiver may take 15 s. So 50 executions make three deliveries a second to dead receivers, and more than a
  // hundred to receivers that respond within 0.3 s.
  'deliver-webhook': 50,
  // A reader may wait as long as a reply takes. Few connections break, and a throttled client resumes a moment later.
  'resume-stream': 50,
  // A reply waits for its model. As an event function, it has less than `send-message`: its clients retry by themselves.
  'complete-chat': 50,
  // A batch of 1,000 requests takes 2 s, so 20 executions dispatch ten batches a second.
  'dispatch-batch': 20,
  // Two concurrent runs would resume the same batches.
  'reconcile-batches': 1,
};

type Part = readonly [name: string, executions: number];

export interface ConcurrencyPlan {
  /** Reserved concurrency by function: guaranteed executions, and also the maximum. */
  readonly reserved: ReadonlyMap<FunctionName, number>;
  readonly batchWorkers: number;
  readonly deadLetterHandlers: number;
  readonly purgers: number;
  /** The reason why nothing is reserved although the settings request it. */
  readonly warning: string | undefined;
}

/** lib/settings/concurrency.ts and batches.ts describe each of these settings. */
export interface ConcurrencySettings {
  readonly batchWorkers?: number | undefined;
  readonly accountConcurrency: number;
  readonly authorizerConcurrency: number;
  readonly shortRouteConcurrency: number;
  readonly otherStacksConcurrency: number;
  readonly reservedConcurrency: boolean;
}

/**
 * Divides the account's concurrency. The authorizer and long-running functions have reservations. Short routes share
 * the unreserved part: a reservation would also be a ceiling, but a hundred chats created at once need a hundred
 * executions of one function. `send-message` reserves the rest.
 */
export function planConcurrency(settings: ConcurrencySettings): ConcurrencyPlan {
  const { accountConcurrency } = settings;
  const workers = { batchWorkers: workersOf(settings), deadLetterHandlers, purgers };
  if (!settings.reservedConcurrency) return { reserved: new Map(), ...workers, warning: undefined };
  if (accountConcurrency <= minUnreservedExecutions)
    return {
      reserved: new Map(),
      ...workers,
      warning: `Nothing is reserved: Lambda keeps ${minUnreservedExecutions} executions unreserved, and accountConcurrency is ${accountConcurrency}. A few concurrent replies, or the ${workers.batchWorkers} workers of batches, can then block the authorizer, and so every route. Ask AWS for 1,000 (docs/deploy.md)`,
    };
  const reserved = new Map<FunctionName, number>([
    ...reservedParts(settings),
    ['send-message', accountConcurrency - sumOf(partsWithoutSends(settings))],
  ]);
  return { reserved, ...workers, warning: undefined };
}

/** A message with the sum of all parts if they exceed the account's concurrency; undefined if they fit. */
export function concurrencyProblem(settings: ConcurrencySettings): string | undefined {
  const { accountConcurrency, reservedConcurrency } = settings;
  // A new account has 10. The plan warns.
  if (accountConcurrency <= minUnreservedExecutions) return undefined;
  const workers = workersOf(settings);
  if (workers >= accountConcurrency)
    return `batchWorkers is ${workers}, and leaves nothing of ${accountConcurrency} to other functions`;
  if (!reservedConcurrency) return undefined;
  const parts: Part[] = [...partsWithoutSends(settings), ['send-message (at least)', minSends]];
  const sum = sumOf(parts);
  if (sum <= accountConcurrency) return undefined;
  const terms = parts.map(([name, executions]) => `${executions} ${name}`).join(' + ');
  return `${accountConcurrency} is less than ${terms} = ${sum}; lower authorizerConcurrency, shortRouteConcurrency, batchWorkers or otherStacksConcurrency, or set reservedConcurrency to false`;
}

/** By default a fifth of a small account: the rest is for clients that wait for a response. */
const workersOf = ({ accountConcurrency, batchWorkers }: ConcurrencySettings): number =>
  batchWorkers ?? Math.min(usualWorkers, Math.max(2, Math.floor(accountConcurrency / 5)));

const reservedParts = ({ authorizerConcurrency }: ConcurrencySettings): [FunctionName, number][] => [
  ['authorize-request', authorizerConcurrency],
  ...(Object.entries(longRunning) as [FunctionName, number][]),
];

const partsWithoutSends = (settings: ConcurrencySettings): Part[] => [
  ...reservedParts(settings),
  ['short routes', settings.shortRouteConcurrency],
  ['process-batch-items', workersOf(settings)],
  ['fail-dead-letters', deadLetterHandlers],
  ['purge-chat', purgers],
  ['other stacks', settings.otherStacksConcurrency],
];

const sumOf = (parts: readonly Part[]): number => parts.reduce((sum, [, executions]) => sum + executions, 0);
