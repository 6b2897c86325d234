import {
  assumedSeconds,
  environmentGigabytes,
  failedWriteUnits,
  logBytesPerInvocation,
  memoryGigabytes,
  modelSeconds,
  requestsPerWorker,
  responseBytes,
  storedBytesPerTurn,
  tracedShare,
  usualConcurrency,
} from './assumptions.ts';
import { batchOf } from './batch-of.ts';
import { type Dollars, dollarsOf, type Share, totalOf } from './dollars-of.ts';
import { daysPerMonth, fixedCosts, idlePolls, reconcilerRuns } from './fixed-costs.ts';
import { money, whole } from './format-number.ts';
import { markdownTable } from './markdown-table.ts';
import { type OperationCalls, operations } from './operations.ts';
import { type PriceName, priceList, priceOf, prices } from './prices.ts';
import { webFunctionsPart } from './render-web-functions.ts';

const shares: readonly Share[] = ['front', 'gateway', 'functions', 'table', 'others', 'logs'];
const million = 1e6;
const batchOfThousand = batchOf(1000);

/** The dollars of a million operations. Requests by which clients poll their batches are not included. */
const dollarsOfMillion = (calls: OperationCalls, concurrency?: number): Dollars =>
  mapShares(dollarsOf(calls, undefined, concurrency), (each) => each * million);

/** The complete text of docs/cost.md. */
export const renderCost = (): string =>
  [summary(), webFunctionsPart(), operationsPart(), idlePart(), assumptionsPart(), pricesPart()].join('\n');

function summary(): string {
  const turn = (concurrency?: number) => dollarsOfMillion(operations['send-message, streamed'], concurrency);
  const batches = mapShares(dollarsOf(batchOfThousand), (each) => each * 1000);
  const idleTotal = idleMonth().reduce((sum, { dollars }) => sum + dollars, 0);
  return `# What it costs

\`npm run cost\` generates this file from \`bin/cost\`: do not edit it. Requests, units and transitions are measured at the
emulators of a local run, and a test fails if one of them grows (\`test/service/operation-cost.test.ts\`). Prices are AWS's
public prices in ${priceList.region}. In ${priceList.comparedIn} each was compared with a stored copy of a public page (\`seen\` in
\`bin/cost/prices.ts\`), not with AWS's live page, so check them before you rely on them. Durations are assumptions, because a
local run cannot measure Lambda.

\`all\` and \`uploads\` are values of the setting \`webFunctions\`. For \`all\`, the default, two more things are assumed: the
rates of web functions, and ${usualConcurrency} requests in an environment on average. See [Web functions](#web-functions).

${markdownTable([
  ['what', '`all`', '`uploads`'],
  [
    'a million streamed messages in existing chats',
    money(totalOf(turn(usualConcurrency))),
    money(totalOf(turn())),
  ],
  [
    'the same in new chats of five messages, each with a title',
    money(totalOf(fiveTurns(usualConcurrency))),
    money(totalOf(fiveTurns())),
  ],
  ['a batch of 1,000 requests', ...both(totalOf(batches) / 1000)],
  ['a million requests in such batches', ...both(totalOf(batches))],
  ['an idle month', ...both(idleTotal)],
])}

By cause:

${markdownTable([
  ['', ...shares, 'sum'],
  cells('a million streamed messages, `all`', turn(usualConcurrency)),
  cells('a million streamed messages, `uploads`', turn()),
  cells('the same in new chats of five messages, `all`', fiveTurns(usualConcurrency)),
  cells('the same in new chats of five messages, `uploads`', fiveTurns()),
  cells('a million requests in batches', batches),
])}

Lambda bills the time that a function waits for a model: with \`uploads\`, ${money(modelWaitDollars())} dollars of each million streamed messages,
with ${modelSeconds} s per reply. In a batch, one function waits for ${requestsPerWorker} requests at the same time, so with \`uploads\` a batch is cheaper if
the reply is not urgent. Storage costs again each month: ${money(storageDollars())} dollars for a million messages with their replies, of
${whole(storedBytesPerTurn)} bytes each.
`;
}

const operationsPart = (): string => `## Operations

The requests of each operation to AWS, and the dollars of a million operations. In addition the authorizer reads two items
per key and minute. Each response that shows an open batch counts the batch's items with ten queries; a list does so for
each open batch, for eight batches concurrently. An item has about 200 bytes, so a poll of a batch with 1,000 requests
takes about 51 read units.

${markdownTable([
  [...operationHead, 'dollars, `all`', 'dollars, `uploads`'],
  ...Object.entries<OperationCalls>(operations).map(([name, calls]) => [
    ...operationCells(name, calls),
    money(totalOf(dollarsOfOne(name, calls, usualConcurrency)) * million),
    money(totalOf(dollarsOfOne(name, calls)) * million),
  ]),
])}

Texts have a few words. Each further kilobyte of a message or reply costs one write unit, and each four kilobytes of history
that are read cost one read unit. Pages have 50 items; a page of messages has 4. The next table shows one batch of 1,000
requests with its dollars, extrapolated from the batches of 30 and of 70:

${markdownTable([
  [...operationHead, 'dollars'],
  [...operationCells('batch of 1,000', batchOfThousand), money(totalOf(dollarsOf(batchOfThousand)))],
])}
`;

const idlePart = (): string => `## An idle month

The same with \`all\` and \`uploads\`. With \`none\` there are fewer secrets and alarms.

${markdownTable([
  ['what', 'how many', 'dollars'],
  ...idleMonth().map(({ what, count, dollars }) => [what, whole(count), money(dollars)]),
])}
`;

const assumptionsPart = (): string => `## Assumptions

${markdownTable([
  ['function', 'seconds, including the model'],
  ...assumedSeconds().map(([name, seconds]) => [name, String(seconds)]),
])}

A function has ${memoryGigabytes} GB of memory, and an environment of a web function ${environmentGigabytes} GB. A model takes ${modelSeconds} s for a reply, an
invocation writes ${whole(logBytesPerInvocation)} bytes of logs, and CloudFront sends ${whole(responseBytes)} bytes per response. X-Ray traces one of
${1 / tracedShare} requests; the column of the logs includes that. Each upload counts as one invocation of the upload server. A request to
the web function of messages and new chats takes as long, and writes as many logs, as the Lambda function that it replaces.

Not included:

- the tokens of models, which cost the most;
- storage of files and logs;
- retries and cold starts. In a batch, writes that fail take ${failedWriteUnits.join(' to ')} more write units a request in a local run, because
  requests meet: ${failedWriteUnits.map((units) => money(units * million * priceOf('writeUnit'))).join(' to ')} dollars for a million requests;
- data from the web function to the gateway, in one Region. At the price of data to the internet, it is ${money(transferDollars())} dollars for
  a million messages;
- the firewall: $5.00 a month, $1.00 for each of its rules and $0.60 per million requests;
- outside us-east-1, one more KMS key for the alarm topic in us-east-1;
- the metrics that functions emit in use: each metric costs ${money(priceOf('metric'))} dollars, for each value of its dimensions, in every month
  in which it has data. A stage in use has about forty.
`;

const pricesPart = (): string => `## Prices

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

/**
 * The dollars of a million messages: each chat is new, its first message makes a title, and four more messages follow.
 */
function fiveTurns(concurrency?: number): Dollars {
  const [create, first, next] = [
    dollarsOfMillion(operations['create-chat'], concurrency),
    dollarsOfMillion(operations['send-message, first of a chat'], concurrency),
    dollarsOfMillion(operations['send-message, streamed'], concurrency),
  ];
  return mapShares(create, (each, share) => (each + first[share] + 4 * next[share]) / 5);
}

/** The dollars per month to store a million turns. */
const storageDollars = (): number =>
  ((million * storedBytesPerTurn) / 1e9) * (priceOf('tableGigabyte') + priceOf('recoveryGigabyte'));

/** The dollars of a million streamed messages for the time in which functions wait for the model. */
const modelWaitDollars = (): number => million * modelSeconds * memoryGigabytes * priceOf('gigabyteSecond');

/** The dollars to send a million responses from one Region to the internet. */
const transferDollars = (): number => ((million * responseBytes) / 1e9) * priceOf('internetGigabyte');

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
    cost('metrics that are always emitted', fixedCosts.metrics, 'metric'),
    cost('dashboard; the first three of an account are free', fixedCosts.dashboards, 'dashboard'),
    cost('KMS keys', fixedCosts.keys, 'key'),
    cost('secrets', fixedCosts.secrets, 'secret'),
    cost(
      `polls of Lambda on ${fixedCosts.polledQueues} empty queues, ${daysPerMonth} days`,
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

const operationHead = [
  'operation',
  'requests to DynamoDB',
  'read units',
  'write units',
  'others',
  'transitions',
];

const operationCells = (name: string, calls: OperationCalls): string[] => [
  name,
  listOf(calls.dynamodb),
  whole(calls.readUnits),
  whole(calls.writeUnits),
  listOf(calls.requests),
  whole(calls.transitions),
];

/** CloudFront sends uploads to the upload server and not to the gateway. */
const dollarsOfOne = (name: string, calls: OperationCalls, concurrency?: number): Dollars =>
  name === 'upload-file'
    ? dollarsOf({ ...calls, invocations: { UploadServer: 1 } }, { front: 1, gateway: 0 })
    : dollarsOf(calls, undefined, concurrency);

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

/** What costs the same with `all` and with `uploads`. */
const both = (dollars: number): [string, string] => [money(dollars), money(dollars)];
