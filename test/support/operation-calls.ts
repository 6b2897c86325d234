import type { OperationCalls } from '../../bin/cost/operations.ts';
import type { Service } from './service.ts';

/**
 * Functions that run independently of the measured work: the authorizer, whose response AWS caches for a minute, and
 * schedules.
 */
const background = /AuthorizeRequest|DeleteUnusedChats|ReconcileBatches/;

/**
 * The calls that a run has recorded during `work`, and until its functions had ended.
 * @param leftOut more functions that are not counted
 */
export async function callsOf(
  { run }: Pick<Service, 'run'>,
  work: () => Promise<unknown>,
  leftOut = /(?!)/,
): Promise<OperationCalls> {
  await untilQuiet(run, leftOut);
  const [tableCalls, calls] = [run.dynamoCalls().length, run.calls().length];
  await work();
  await untilQuiet(run, leftOut);
  const counts = (name = '') => !background.test(name) && !leftOut.test(name);
  const own = run
    .calls()
    .slice(calls)
    .filter(({ name }) => counts(name));
  const ownOfTable = run
    .dynamoCalls()
    .slice(tableCalls)
    .filter(({ functionName }) => counts(functionName));
  const isStep = ({ operation }: { operation: string }) => ['invocation', 'transition'].includes(operation);
  return {
    invocations: tally(
      own.filter(({ operation }) => operation === 'invocation'),
      ({ name = '' }) => shortNameOf(name),
    ),
    dynamodb: tally(ownOfTable, ({ target }) => target),
    readUnits: sumOf(ownOfTable, ({ consumed }) => consumed.readUnits),
    writeUnits: sumOf(ownOfTable, ({ consumed }) => consumed.writeUnits),
    requests: tally(
      own.filter((call) => !isStep(call)),
      ({ service, operation }) => `${service} ${operation}`,
    ),
    transitions: own.filter(({ operation }) => operation === 'transition').length,
  };
}

/**
 * Waits until no function was busy in three checks, 50 ms apart, so that a function that was just invoked has started.
 */
export async function untilQuiet(run: Service['run'], leftOut = /(?!)/): Promise<void> {
  for (let quiet = 0; quiet < 3; ) {
    const isBusy = run.workers().some(({ functionName, busy }) => busy && !leftOut.test(functionName));
    quiet = isBusy ? 0 : quiet + 1;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** `SendMessage` of `agent-service-local-SendMessage0A1B2C3D`. */
const shortNameOf = (functionName: string): string =>
  /-([A-Za-z]+?)(?:Function)?[0-9A-F]{8}/.exec(functionName)?.[1] ?? functionName;

function tally<Each>(all: readonly Each[], keyOf: (one: Each) => string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const one of all) counts[keyOf(one)] = (counts[keyOf(one)] ?? 0) + 1;
  return counts;
}

const sumOf = <Each>(all: readonly Each[], value: (one: Each) => number): number =>
  all.reduce((sum, one) => sum + value(one), 0);
