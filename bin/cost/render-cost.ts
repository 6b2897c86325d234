import {
  assumedSeconds,
  logBytesPerInvocation,
  memoryGigabytes,
  modelSeconds,
  requestsPerWorker,
  responseBytes,
  storedBytesPerTurn,
  tracedShare,
} from './assumptions.ts';
import { batchOf } from './batch-of.ts';
import { type Dollars, dollarsOf, type Share, totalOf } from './dollars-of.ts';
import { daysAMonth, fixedCosts, idlePolls, reconcilerRuns } from './fixed-costs.ts';
import { markdownTable } from './markdown-table.ts';
import { type OperationCalls, operations } from './operations.ts';
import { type PriceName, priceList, priceOf, prices } from './prices.ts';

const shares: readonly Share[] = ['front', 'gateway', 'functions', 'table', 'others', 'logs'];
const million = 1e6;
const batchOfThousand = batchOf(1000);

/** Batches take further requests of clients, who look how they go: their own affair. */
const dollarsOfMillion = (calls: OperationCalls): Dollars =>
  mapShares(dollarsOf(calls), (each) => each * million);

/** The whole of docs/cost.md. */
export function renderCost(): string {
  const turn = dollarsOfMillion(operations['send-message, streamed']);
  const conversation = fiveTurns();
  const thousand = dollarsOf(batchOfThousand);
  const idle = idleMonth();
  const idleTotal = idle.reduce((sum, { dollars }) => sum + dollars, 0);
  return `# What it costs

Made by \`npm run cost\` from \`bin/cost\`; do not edit. Requests, units and transitions are counted on the wire of a local
run, and a test fails when one grows (\`test/service/operation-cost.test.ts\`). Prices are AWS's public ones of
${priceList.region}. In ${priceList.comparedIn} each was compared with a stored copy of a public page (\`seen\` in \`bin/cost/prices.ts\`),
not with AWS's live one, so check them. Times are assumptions, since a local run tells nothing of Lambda's.

${markdownTable([
  ['what', 'dollars'],
  ['a million streamed messages, chats at hand', money(totalOf(turn))],
  ['the same in new chats of five, with a title each', money(totalOf(conversation))],
  ['a batch of 1,000 requests', money(totalOf(thousand))],
  ['the same a million requests', money(totalOf(thousand) * 1000)],
  ['an idle month', money(idleTotal)],
])}

Where that goes:

${markdownTable([
  ['', ...shares, 'sum'],
  cells('a million streamed messages', turn),
  cells('the same in new chats of five', conversation),
  cells(
    'a million requests in batches',
    mapShares(thousand, (each) => each * 1000),
  ),
])}

A function that waits for a model is paid for as if it worked: of a streamed message ${money(waiting())} of each million are that,
with ${modelSeconds} s a reply. A request of a batch waits beside ${requestsPerWorker - 1} others in one function, so where an answer may wait, a
batch is the cheaper way. What is kept costs each month again: a million messages with their replies, of ${whole(storedBytesPerTurn)} bytes,
${money(retained())}.

## Operations

What each asks for, and dollars a million times. Besides, the authorizer reads two items for each key and minute.
The requests of an open batch are counted for each answer that shows it: by ten queries, in a list by ten for each open
batch, eight batches at once. An item has some 200 bytes, so a poll of 1,000 requests takes some 51 read units.

${markdownTable([
  ['operation', 'requests to DynamoDB', 'read units', 'write units', 'others', 'transitions', 'dollars'],
  ...Object.entries<OperationCalls>(operations).map(([name, calls]) => operationLine(name, calls, million)),
])}

Texts are of a few words; each further kilobyte of a message or reply is a write unit when it is stored, and each four
kilobytes of history a read unit when they are read. Pages have 50 rows, that of messages 4. A
batch of 1,000, on the line through those of 10 and of 50, and its dollars once:

${markdownTable([
  ['operation', 'requests to DynamoDB', 'read units', 'write units', 'others', 'transitions', 'dollars'],
  operationLine('batch of 1,000', batchOfThousand, 1),
])}

## An idle month

${markdownTable([
  ['what', 'how many', 'dollars'],
  ...idle.map(({ what, count, dollars }) => [what, whole(count), money(dollars)]),
])}

## Assumptions

${markdownTable([
  ['function', 'seconds, with the model where it is asked'],
  ...assumedSeconds().map(([name, seconds]) => [name, String(seconds)]),
])}

Memory is ${memoryGigabytes} GB, a reply takes a model ${modelSeconds} s, an invocation writes ${whole(logBytesPerInvocation)} bytes of logs, and an answer has ${whole(responseBytes)}
bytes on its way through CloudFront. X-Ray traces one request of ${1 / tracedShare}, which is in the column of the logs. The upload
server is reckoned as if each upload were an invocation.

Not counted: the model's tokens, which cost the most; files and logs that are kept; retries and cold starts; the firewall,
$5.00 a month, $1.00 for each of its rules and $0.60 for a million requests; outside us-east-1 one KMS key more, of the
topic there; and the metrics that functions tell in use:
each, with each value of its dimensions, ${money(priceOf('metric'))} dollars in a month in which it is told, and a stage in use has some forty.

## Prices

${markdownTable([
  ['what', 'dollars', 'for', 'source'],
  ...Object.values(prices).map(({ what, dollars, per, source }) => [
    what,
    String(dollars),
    whole(per),
    source,
  ]),
])}
`;
}

/** A new chat, its first message with a title, and four more: for a million messages. */
function fiveTurns(): Dollars {
  const [create, first, next] = [
    dollarsOfMillion(operations['create-chat']),
    dollarsOfMillion(operations['send-message, first of a chat']),
    dollarsOfMillion(operations['send-message, streamed']),
  ];
  return mapShares(create, (each, share) => (each + first[share] + 4 * next[share]) / 5);
}

/** A month, of a million turns. */
const retained = (): number =>
  ((million * storedBytesPerTurn) / 1e9) * (priceOf('tableGigabyte') + priceOf('recoveryGigabyte'));

/** Of a million streamed messages, for the time in which the model answers. */
const waiting = (): number => million * modelSeconds * memoryGigabytes * priceOf('gigabyteSecond');

function idleMonth(): { what: string; count: number; dollars: number }[] {
  const cost = (what: string, count: number, price: PriceName) => ({
    what,
    count,
    dollars: count * priceOf(price),
  });
  const reconciler: OperationCalls = {
    invocations: { ReconcileBatches: 1 },
    dynamodb: { Query: 2 },
    readUnits: 2,
    writeUnits: 0,
    requests: {},
    transitions: 0,
  };
  return [
    cost('metrics of alarms', fixedCosts.alarmMetrics, 'alarmMetric'),
    cost('metrics that are always told', fixedCosts.metrics, 'metric'),
    cost('dashboard; the first three of an account are free', fixedCosts.dashboards, 'dashboard'),
    cost('KMS keys', fixedCosts.keys, 'key'),
    cost('secrets', fixedCosts.secrets, 'secret'),
    cost(
      `looks of Lambda at ${fixedCosts.polledQueues} empty queues, ${daysAMonth} days`,
      idlePolls,
      'queueRequest',
    ),
    {
      what: 'runs of the reconciler, every minute',
      count: reconcilerRuns,
      dollars: reconcilerRuns * totalOf(dollarsOf(reconciler, { front: 0, gateway: 0 })),
    },
  ];
}

function operationLine(name: string, calls: OperationCalls, factor: number): string[] {
  return [
    name,
    listOf(calls.dynamodb),
    whole(calls.readUnits),
    whole(calls.writeUnits),
    listOf(calls.requests),
    whole(calls.transitions),
    money(totalOf(dollarsOfOne(name, calls)) * factor),
  ];
}

/** Files do not take the way through the gateway: CloudFront leads them to a server of their own. */
const dollarsOfOne = (name: string, calls: OperationCalls): Dollars =>
  name === 'upload-file'
    ? dollarsOf({ ...calls, invocations: { UploadServer: 1 } }, { front: 1, gateway: 0 })
    : dollarsOf(calls);

const listOf = (counts: Record<string, number>): string =>
  Object.entries(counts)
    .map(([name, count]) => (count === 1 ? name : `${whole(count)} ${name}`))
    .join(', ') || '–';

const cells = (name: string, dollars: Dollars): string[] => [
  name,
  ...shares.map((share) => money(dollars[share])),
  money(totalOf(dollars)),
];

const mapShares = (dollars: Dollars, map: (each: number, share: Share) => number): Dollars =>
  Object.fromEntries(shares.map((share) => [share, map(dollars[share], share)])) as Dollars;

const wholeNumbers = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const whole = (value: number): string => wholeNumbers.format(value);

/** Two digits that count below a dollar, whole cents above. */
const money = (value: number): string =>
  value === 0 || value >= 1 ? value.toFixed(2) : value.toPrecision(2);
