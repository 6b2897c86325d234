import { type EntryPointSettings, entryPointsOfChats, isChatRoute } from './chat-routes.ts';
import type { FunctionName } from './function-names.ts';

/** Lambda rejects a reservation that would leave less than this concurrency to functions without a reservation. */
export const minUnreservedExecutions = 100;

/** With 25 requests each, 20 workers process 500 requests at once. */
const usualWorkers = 20;

/**
 * Lambda's minimum for `maxConcurrency`. Purges of chats may wait: for clients, the chats are already deleted. Erasures
 * of users share the queue, and clients see the chats until theirs runs.
 */
const purgers = 2;

/**
 * Twice what 1,000 requests a second of an assumed 0.1 s need. Without a free execution of the authorizer, the gateway
 * responds with 500 to keys that are not in its cache.
 */
export const usualAuthorizers = 200;
const usualShortRoutes = 200;
/** If the preparation of a file takes 1.5 s, 50 executions prepare 33 files a second. */
const usualPreparations = 50;

/** 50 executions make about three deliveries a second to dead receivers, which may take 15 s. */
const usualWebhooks = 50;

/**
 * What the account has room for is reserved. A reservation is also a ceiling, so that its function cannot use up the
 * account's concurrency.
 */
const longRunning: Partial<Record<FunctionName, number>> = {
  'deliver-webhook': usualWebhooks,
  // A reader may wait as long as a reply takes, but few connections break.
  'resume-stream': 50,
  // This route has less than `send-message`, because its clients retry by themselves.
  'complete-chat': 50,
  // If the dispatch of a batch takes less than a second, 20 executions dispatch more than 20 batches a second.
  'dispatch-batch': 20,
  // Without web functions for messages: the rest of an account of 1,000. Where all parts fit, it gets the whole rest.
  'send-message': 257,
};

/** Two concurrent runs would resume the same batches. */
const reconcilers = 1;

/**
 * Gives the authorizer 10 executions, the default burst of one API key (`rateLimits.sends`). Smaller reservations,
 * which are also ceilings, would do more harm than none.
 */
const minScale = 0.05;

export type ConcurrencyPlan = ReturnType<typeof planConcurrency>;

export interface ConcurrencySettings extends EntryPointSettings {
  readonly batchWorkers?: number | undefined;
  readonly accountConcurrency: number;
  readonly preparationConcurrency?: number | undefined;
  readonly otherStacksConcurrency: number;
  readonly reservedConcurrency: boolean;
}

/**
 * Short routes have no reservation, because it would also be a ceiling: a hundred requests of one route at once need a
 * hundred executions of its function.
 */
export function planConcurrency(settings: ConcurrencySettings) {
  const { accountConcurrency, reservedConcurrency } = settings;
  const scale = scaleOf(settings);
  const isReserved = reservedConcurrency && scale >= minScale;
  const reserved = isReserved ? reservationsOf(settings, scale) : new Map<FunctionName, number>();
  return {
    reserved,
    shortRoutes: partOf(usualShortRoutes, scale),
    preparations: settings.preparationConcurrency ?? partOf(usualPreparations, scale),
    webhooks: partOf(usualWebhooks, scale),
    unreserved: accountConcurrency - sumOf(reserved.values()),
    batchWorkers: workersOf(settings),
    purgers,
    warning: reservedConcurrency && !isReserved ? describeUnreserved(settings) : undefined,
  };
}

/** If neither `batchWorkers` nor `preparationConcurrency` is set, and the reservations do not fit, all are left out. */
export function concurrencyProblem(settings: ConcurrencySettings): string | undefined {
  const { accountConcurrency, reservedConcurrency } = settings;
  const workers = workersOf(settings);
  if (workers >= accountConcurrency)
    return `batchWorkers is ${workers}, and leaves nothing of ${accountConcurrency} to other functions`;
  const given = givenParts(settings);
  if (!reservedConcurrency || given.length === 0 || scaleOf(settings) >= minScale) return undefined;
  const terms = [...given, ['other stacks', settings.otherStacksConcurrency] as const]
    .map(([name, executions]) => `${executions} ${name}`)
    .join(' + ');
  return `${accountConcurrency} has no room for ${terms} and the other functions; lower or leave out what you have set, or set reservedConcurrency to false`;
}

/** Each upload buffers a part of 5 MB and the data of two connections, so 32 need about 200 MB. */
export const uploadsPerEnvironment = (settings: { readonly requestsPerEnvironment: number }): number =>
  Math.min(32, settings.requestsPerEnvironment);

const workersOf = ({ accountConcurrency, batchWorkers }: ConcurrencySettings): number =>
  batchWorkers ?? Math.min(usualWorkers, Math.max(2, Math.floor(accountConcurrency / 5)));

const usualReservations = (settings: ConcurrencySettings): [FunctionName, number][] =>
  (Object.entries(longRunning) as [FunctionName, number][]).filter(
    ([name]) => settings.webFunctions !== 'all' || !isChatRoute(name),
  );

const givenParts = (settings: ConcurrencySettings): (readonly [name: string, executions: number])[] =>
  (['preparationConcurrency', 'batchWorkers'] as const).flatMap((name) => {
    const executions = settings[name];
    return executions === undefined ? [] : [[name, executions] as const];
  });

function scaleOf(settings: ConcurrencySettings): number {
  const { accountConcurrency, preparationConcurrency } = settings;
  const fixed =
    (preparationConcurrency ?? 0) + ofEventSources(settings) + settings.otherStacksConcurrency + reconcilers;
  const scaled =
    sumOf(usualReservations(settings).map(([, executions]) => executions)) +
    usualAuthorizers +
    usualShortRoutes +
    (preparationConcurrency === undefined ? usualPreparations : 0);
  return Math.min(1, (accountConcurrency - fixed) / scaled);
}

const partOf = (usual: number, scale: number): number => Math.max(1, Math.floor(usual * scale));

function reservationsOf(settings: ConcurrencySettings, scale: number): Map<FunctionName, number> {
  const reserved = new Map<FunctionName, number>([
    ['authorize-request', Math.floor(usualAuthorizers * scale)],
    ['prepare-attachment', settings.preparationConcurrency ?? Math.floor(usualPreparations * scale)],
    ['reconcile-batches', reconcilers],
  ]);
  for (const [name, executions] of usualReservations(settings))
    reserved.set(name, Math.floor(executions * scale));
  const sends = reserved.get('send-message');
  const whole =
    sumOf(reserved.values()) + usualShortRoutes + ofEventSources(settings) + settings.otherStacksConcurrency;
  if (sends !== undefined && scale === 1)
    reserved.set('send-message', sends + settings.accountConcurrency - whole);
  return reserved;
}

const ofEventSources = (settings: ConcurrencySettings): number => workersOf(settings) + purgers;

function describeUnreserved(settings: ConcurrencySettings): string {
  const waiting = entryPointsOfChats(settings).functions ? 'A few concurrent replies, or the' : 'The';
  return `Nothing is reserved: Lambda keeps ${minUnreservedExecutions} executions unreserved, and accountConcurrency is ${settings.accountConcurrency}. ${waiting} ${workersOf(settings)} workers of batches, can then block the authorizer, and so every route. Ask AWS for 1,000 (docs/deploy.md)`;
}

const sumOf = (numbers: Iterable<number>): number =>
  [...numbers].reduce((sum, executions) => sum + executions, 0);
