import { type EntryPointSettings, entryPointsOfChats, isChatRoute } from './chat-routes.ts';
import type { FunctionName } from './function-names.ts';

/** Lambda rejects a reservation that would leave less than this concurrency to functions without a reservation. */
export const minUnreservedExecutions = 100;

/** The usual number of batch workers. With 25 requests each, 20 workers process 500 requests at once. */
const usualWorkers = 20;

/**
 * The executions of the function that purges chats: Lambda's minimum for an event source. A purge may wait, because for
 * clients the chat is already deleted.
 */
const purgers = 2;

/**
 * The usual numbers are for an account of 1,000 executions. The routes of the gateway share the authorizer, so it has
 * twice the executions that 1,000 requests a second of an assumed 0.1 s each need. Without a free execution of the
 * authorizer, the gateway responds with 500 to keys that are not in its cache.
 */
export const usualAuthorizers = 200;
/** The executions that stay unreserved for the short routes: as many as the authorizer has. */
const usualShortRoutes = 200;
/** If the preparation of a file takes 1.5 s, 50 executions prepare 33 files a second. */
const usualPreparations = 50;

/**
 * A receiver may take 15 s. So 50 executions make about three deliveries a second to dead receivers, and more than a
 * hundred to receivers that respond within 0.3 s.
 */
const usualWebhooks = 50;

/**
 * Functions whose calls may be many, or take long. Their reservation is a ceiling, so that they cannot use up the
 * account's concurrency.
 */
const longRunning: Partial<Record<FunctionName, number>> = {
  'deliver-webhook': usualWebhooks,
  // A reader may wait as long as a reply takes, but few connections break.
  'resume-stream': 50,
  // A reply waits for its model. Without a web function, this route has less than `send-message`, because its clients
  // retry by themselves.
  'complete-chat': 50,
  // If a batch takes less than a second, 20 executions dispatch more than 20 batches a second.
  'dispatch-batch': 20,
  // What an account of 1,000 has left; a larger account gives it the rest.
  'send-message': 257,
};

/**
 * The executions of the reconciler in every account: only one, because two concurrent runs would resume the same
 * batches.
 */
const reconcilers = 1;

/**
 * The smallest part of the usual reservations that is reserved: if an account has room for less, nothing is reserved.
 * It gives the authorizer 10 executions, enough for the burst of one API key (`rateLimits.sends`). A reservation is
 * also a ceiling, so a smaller one would do more harm than none.
 */
const minScale = 0.05;

export interface ConcurrencyPlan {
  /** Reserved concurrency by function: guaranteed executions, and also the maximum. */
  readonly reserved: ReadonlyMap<FunctionName, number>;
  // How many executions the short routes, the preparation of files and the webhooks may have at once, reserved or not.
  readonly shortRoutes: number;
  readonly preparations: number;
  readonly webhooks: number;
  /** What the account's functions without a reservation share, if no other stack has reserved a part of it. */
  readonly unreserved: number;
  readonly batchWorkers: number;
  readonly purgers: number;
  /** The reason why nothing is reserved although the settings request it. */
  readonly warning: string | undefined;
}

/** lib/settings/concurrency.ts, batches.ts and access.ts describe each of these settings. */
export interface ConcurrencySettings extends EntryPointSettings {
  readonly batchWorkers?: number | undefined;
  readonly accountConcurrency: number;
  readonly preparationConcurrency?: number | undefined;
  readonly otherStacksConcurrency: number;
  readonly reservedConcurrency: boolean;
}

/**
 * Divides the account's concurrency. The authorizer, `prepare-attachment`, the reconciler, and the functions of
 * `longRunning` that the stage has, have reservations. Short routes share the unreserved part: a reservation would also
 * be a ceiling, but a hundred chats created at once need a hundred executions of one function. In an account that has
 * no room for all, most sizes are scaled down (`scaleOf`); below `minScale`, nothing is reserved.
 */
export function planConcurrency(settings: ConcurrencySettings): ConcurrencyPlan {
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

/**
 * Says what is wrong if the batch workers would take the account's whole concurrency, or if executions are to be
 * reserved and sizes that an operator has set leave too little room. If the default sizes do not fit, nothing is
 * reserved, and `planConcurrency` warns.
 */
export function concurrencyProblem(settings: ConcurrencySettings): string | undefined {
  const { accountConcurrency, reservedConcurrency } = settings;
  const workers = workersOf(settings);
  // New accounts may have only 10 executions, and an event source needs at least 2.
  if (workers >= accountConcurrency)
    return `batchWorkers is ${workers}, and leaves nothing of ${accountConcurrency} to other functions`;
  const given = givenParts(settings);
  if (!reservedConcurrency || given.length === 0 || scaleOf(settings) >= minScale) return undefined;
  const terms = [...given, ['other stacks', settings.otherStacksConcurrency] as const]
    .map(([name, executions]) => `${executions} ${name}`)
    .join(' + ');
  return `${accountConcurrency} has no room for ${terms} and the other functions; lower or leave out what you have set, or set reservedConcurrency to false`;
}

/**
 * Returns the maximum of concurrent uploads in one environment. Each buffers a part of 5 MB and the data of two
 * connections, so 32 uploads need about 200 MB. Lambda adds environments under load, at most as many as the setting
 * `webEnvironments` says.
 */
export const uploadsPerEnvironment = (settings: { readonly requestsPerEnvironment: number }): number =>
  Math.min(32, settings.requestsPerEnvironment);

/**
 * Returns the number of batch workers. The default is at most a fifth of the account's concurrency, but at least 2.
 */
const workersOf = ({ accountConcurrency, batchWorkers }: ConcurrencySettings): number =>
  batchWorkers ?? Math.min(usualWorkers, Math.max(2, Math.floor(accountConcurrency / 5)));

/** Returns the reservations of `longRunning`, without the routes that a web function serves. */
const usualReservations = (settings: ConcurrencySettings): [FunctionName, number][] =>
  (Object.entries(longRunning) as [FunctionName, number][]).filter(
    ([name]) => settings.webFunctions !== 'all' || !isChatRoute(name),
  );

/** Returns the parts whose size an operator has set. */
const givenParts = (settings: ConcurrencySettings): (readonly [name: string, executions: number])[] =>
  (['preparationConcurrency', 'batchWorkers'] as const).flatMap((name) => {
    const executions = settings[name];
    return executions === undefined ? [] : [[name, executions] as const];
  });

/**
 * Returns the fraction of the usual sizes for which the account has room; 1 if all fit. Sizes that a setting gives are
 * not scaled.
 */
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

/**
 * Returns the given fraction of a usual size, at least 1. If nothing is reserved, this is what a stage should use at
 * most.
 */
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
  // All reservations and all that must stay unreserved.
  const whole =
    sumOf(reserved.values()) + usualShortRoutes + ofEventSources(settings) + settings.otherStacksConcurrency;
  if (sends !== undefined && scale === 1)
    reserved.set('send-message', sends + settings.accountConcurrency - whole);
  return reserved;
}

/** Returns the executions that the maximum concurrency of the event sources allows at once. */
const ofEventSources = (settings: ConcurrencySettings): number => workersOf(settings) + purgers;

function describeUnreserved(settings: ConcurrencySettings): string {
  const waiting = entryPointsOfChats(settings).functions ? 'A few concurrent replies, or the' : 'The';
  return `Nothing is reserved: Lambda keeps ${minUnreservedExecutions} executions unreserved, and accountConcurrency is ${settings.accountConcurrency}. ${waiting} ${workersOf(settings)} workers of batches, can then block the authorizer, and so every route. Ask AWS for 1,000 (docs/deploy.md)`;
}

const sumOf = (numbers: Iterable<number>): number =>
  [...numbers].reduce((sum, executions) => sum + executions, 0);
