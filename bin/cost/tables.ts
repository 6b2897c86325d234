import { assumptions, secondsOf, timedFunctions } from './assumptions.ts';
import { batchOf } from './batch-of.ts';
import { dollarsOf, dollarsOfMessages, shares, totalOf } from './dollars-of.ts';
import { daysPerMonth, fixedCosts, idlePolls, reconcilerRuns, retentionRuns } from './fixed-costs.ts';
import { money, whole } from './format-number.ts';
import { breakEvenConcurrency, evenConcurrency } from './functions.ts';
import { markdownTable } from './markdown-table.ts';
import { type OperationCalls, operations, reconcilerCalls, retentionCalls } from './operations.ts';
import { priceOf, prices } from './prices.ts';

const million = 1e6;
const { usualConcurrency, requestsPerEnvironment } = assumptions;

const concurrencies = [1, usualConcurrency, requestsPerEnvironment];

/** Two cells, by the setting `webFunctions`: for `all`, at the usual concurrency; for `uploads`. */
const bySetting = (dollarsAt: (concurrency?: number) => number): string[] =>
  [usualConcurrency, undefined].map((concurrency) => money(dollarsAt(concurrency)));

type Mix = readonly [times: number, calls: OperationCalls][];
const messages: Mix = [[million, operations['send-message, streamed']]];
const messagesOfNewChats: Mix = [
  [million / 5, operations['create-chat']],
  [million / 5, operations['send-message, first of a chat']],
  [(4 * million) / 5, operations['send-message, streamed']],
];
const batch = batchOf(1000);
// Without the requests by which clients poll their batches.
const batches: Mix = [[1000, batch]];

const dollarsOfMix = (mix: Mix, concurrency?: number, share?: (typeof shares)[number]): number =>
  mix.reduce((sum, [times, calls]) => {
    const dollars = dollarsOf(calls, concurrency);
    return sum + times * (share === undefined ? totalOf(dollars) : dollars[share]);
  }, 0);

const causeLine = (name: string, mix: Mix, concurrency?: number): string[] => [
  name,
  ...[...shares, undefined].map((share) => money(dollarsOfMix(mix, concurrency, share))),
];

const polls = `polls of Lambda on ${fixedCosts.polledQueues} empty queues, ${daysPerMonth} days`;
const dollarsOfRun = (calls: OperationCalls): number => totalOf(dollarsOf(calls, undefined, 0));

const idleMonth: [what: string, count: number, dollars: number][] = [
  ['metrics of alarms', fixedCosts.alarmMetrics, priceOf('alarmMetric')],
  ['metrics that are always emitted', fixedCosts.metrics, priceOf('metric')],
  ['dashboard; the first three of an account are free', fixedCosts.dashboards, priceOf('dashboard')],
  ['KMS keys', fixedCosts.keys, priceOf('key')],
  ['secrets', fixedCosts.secrets, priceOf('secret')],
  [polls, idlePolls, priceOf('queueRequest')],
  ['runs of the reconciler, every minute', reconcilerRuns, dollarsOfRun(reconcilerCalls)],
  ['runs of the deletion of unused chats, every hour', retentionRuns, dollarsOfRun(retentionCalls)],
];

const unitTitles = ['requests to DynamoDB', 'read units', 'write units', 'others', 'transitions'];

const operationCells = (name: string, calls: OperationCalls): string[] => [
  name,
  listOf(calls.dynamodb),
  whole(calls.readUnits),
  whole(calls.writeUnits),
  listOf(calls.requests),
  whole(calls.transitions),
];

const listOf = (counts: OperationCalls['requests']): string =>
  Object.entries(counts)
    .toSorted()
    .map(([name, count]) => (count === 1 ? name : `${whole(count)} ${name}`))
    .join(', ') || '–';

function monthLine(count: number): string[] {
  const dollarsAt = (concurrency?: number) => money((count / million) * dollarsOfMessages(concurrency));
  const even = evenConcurrency(count);
  const evenly = `${dollarsAt(even)} (${even.toPrecision(2)})`;
  return [whole(count), dollarsAt(), ...concurrencies.map(dollarsAt), evenly];
}

const rateLine = (name: string, factor: number): string[] => [
  name,
  ...concurrencies.map((each) => money(dollarsOfMessages(each, factor))),
  money(breakEvenConcurrency(factor)),
];

const concurrencyTitles = concurrencies.map((each) => `\`all\`, concurrency ${each}`);
const titled = 'the same in new chats of five messages, each with a title';
const idleDollars = idleMonth.reduce((sum, [, count, dollars]) => sum + count * dollars, 0);

export const tables = {
  summaryTable: markdownTable([
    ['what', '`all`', '`uploads`'],
    ['a million streamed messages in existing chats', ...bySetting((each) => dollarsOfMix(messages, each))],
    [titled, ...bySetting((each) => dollarsOfMix(messagesOfNewChats, each))],
    ['a batch of 1,000 requests', ...bySetting((each) => totalOf(dollarsOf(batch, each)))],
    ['a million requests in such batches', ...bySetting((each) => dollarsOfMix(batches, each))],
    ['an idle month', ...bySetting(() => idleDollars)],
  ]),
  causeTable: markdownTable([
    ['', ...shares, 'sum'],
    causeLine('a million streamed messages, `all`', messages, usualConcurrency),
    causeLine('a million streamed messages, `uploads`', messages),
    causeLine('the same in new chats of five messages, `all`', messagesOfNewChats, usualConcurrency),
    causeLine('the same in new chats of five messages, `uploads`', messagesOfNewChats),
    causeLine('a million requests in batches', batches),
  ]),
  monthTable: markdownTable([
    ['messages', '`uploads`', ...concurrencyTitles, '`all`, evenly spread'],
    ...[1e4, 1e6, 1e8].map(monthLine),
  ]),
  rateTable: markdownTable([
    ['rates', ...concurrencies.map((each) => `concurrency ${each}`), 'break-even: concurrency'],
    rateLine('half', 0.5),
    rateLine('as assumed', 1),
    rateLine('double', 2),
  ]),
  operationTable: markdownTable([
    ['operation', ...unitTitles, 'dollars, `all`', 'dollars, `uploads`'],
    ...Object.entries(operations).map(([name, calls]) => [
      ...operationCells(name, calls),
      ...bySetting((each) => million * totalOf(dollarsOf(calls, each))),
    ]),
  ]),
  batchTable: markdownTable([
    ['operation', ...unitTitles, 'dollars'],
    [...operationCells('batch of 1,000', batch), money(totalOf(dollarsOf(batch)))],
  ]),
  idleTable: markdownTable([
    ['what', 'how many', 'dollars'],
    ...idleMonth.map(([what, count, dollars]) => [what, whole(count), money(count * dollars)]),
  ]),
  durationTable: markdownTable([
    ['function', 'seconds, including the model'],
    ...timedFunctions.map((name) => [name, String(secondsOf(name))]),
  ]),
  priceTable: markdownTable([
    ['what', 'dollars', 'for', 'source'],
    ...Object.values(prices).map(([what, dollars, units, page]) => [
      what,
      String(dollars),
      whole(units),
      `https://aws.amazon.com/${page}/pricing/${page === 'ec2' ? 'on-demand/' : ''}`,
    ]),
  ]),
};
