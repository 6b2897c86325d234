import type { FunctionName } from './function-names.ts';

/** Lambda leaves so much to functions without a reservation, and rejects the reservation that would take of it. */
export const unreservedAtLeast = 100;

/** Fewer concurrent replies would turn away the burst of one API key: ten sends at once (`rateLimits.sends`). */
const sendsAtLeast = 10;

/** Each worker handles one message, which names ten requests: 200 requests run at once. */
const workersAtMost = 20;

/** Lambda's minimum for an event source. Dead letters are rare. */
const deadLetterHandlers = 2;

/**
 * Functions that are called in any number and may run for long: their reservation is a ceiling, which leaves the rest
 * alone. A call beyond it is retried by its caller.
 */
const longRunning: Partial<Record<FunctionName, number>> = {
  // At 1.5 s a file, 33 files a second. One message attaches ten.
  'prepare-attachment': 50,
  // A receiver may take 15 s: of dead ones three a second, of those that respond within 0.3 s more than a hundred.
  'deliver-webhook': 50,
  // 2 s for a batch of 1,000 requests: ten batches a second.
  'dispatch-batch': 20,
  // Two that run at once would take up the same batches.
  'reconcile-batches': 1,
};

type Part = readonly [name: string, executions: number];

export interface ConcurrencyPlan {
  /** By function: so many executions whatever else runs, and never more. */
  readonly reserved: ReadonlyMap<FunctionName, number>;
  readonly batchWorkers: number;
  readonly deadLetterHandlers: number;
  /** Why nothing is reserved although the settings ask for it. */
  readonly warning: string | undefined;
}

/** lib/settings/concurrency.ts describes each. */
export interface ConcurrencySettings {
  readonly accountConcurrency: number;
  readonly authorizerConcurrency: number;
  readonly shortRouteConcurrency: number;
  readonly otherStacksConcurrency: number;
  readonly reservedConcurrency: boolean;
}

/**
 * Divides the account's concurrency. The authorizer and what runs for long have reservations. Short routes share what
 * is left unreserved, because a reservation of each would be its ceiling too: a hundred chats created at once need a
 * hundred executions of one function. What nobody else needs is for sends.
 */
export function planConcurrency(settings: ConcurrencySettings): ConcurrencyPlan {
  const { accountConcurrency } = settings;
  const workers = { batchWorkers: workersOf(accountConcurrency), deadLetterHandlers };
  if (!settings.reservedConcurrency) return { reserved: new Map(), ...workers, warning: undefined };
  if (accountConcurrency <= unreservedAtLeast)
    return {
      reserved: new Map(),
      ...workers,
      warning: `Nothing is reserved: Lambda keeps ${unreservedAtLeast} executions unreserved, and accountConcurrency is ${accountConcurrency}. A few replies at once then stop the authorizer, and every route with it. Ask AWS for 1,000 (docs/deploy.md)`,
    };
  const reserved = new Map<FunctionName, number>([
    ...reservedParts(settings),
    ['send-message', accountConcurrency - sumOf(partsWithoutSends(settings))],
  ]);
  return { reserved, ...workers, warning: undefined };
}

/** What does not fit into the account, with the sum; undefined when all of it fits. */
export function concurrencyProblem(settings: ConcurrencySettings): string | undefined {
  const { accountConcurrency, reservedConcurrency } = settings;
  if (!reservedConcurrency || accountConcurrency <= unreservedAtLeast) return undefined;
  const parts: Part[] = [...partsWithoutSends(settings), ['send-message (at least)', sendsAtLeast]];
  const sum = sumOf(parts);
  if (sum <= accountConcurrency) return undefined;
  const terms = parts.map(([name, executions]) => `${executions} ${name}`).join(' + ');
  return `${accountConcurrency} is less than ${terms} = ${sum}; lower authorizerConcurrency, shortRouteConcurrency or otherStacksConcurrency, or set reservedConcurrency to false`;
}

/** A fifth of a small account: the rest is for people who wait. */
const workersOf = (accountConcurrency: number): number =>
  Math.min(workersAtMost, Math.max(2, Math.floor(accountConcurrency / 5)));

const reservedParts = ({ authorizerConcurrency }: ConcurrencySettings): [FunctionName, number][] => [
  ['authorize-request', authorizerConcurrency],
  ...(Object.entries(longRunning) as [FunctionName, number][]),
];

const partsWithoutSends = (settings: ConcurrencySettings): Part[] => [
  ...reservedParts(settings),
  ['short routes', settings.shortRouteConcurrency],
  ['process-batch-items', workersOf(settings.accountConcurrency)],
  ['fail-dead-letters', deadLetterHandlers],
  ['other stacks', settings.otherStacksConcurrency],
];

const sumOf = (parts: readonly Part[]): number => parts.reduce((sum, [, executions]) => sum + executions, 0);
