import {
  environmentGigabytes,
  processorMilliseconds,
  requestsPerEnvironment,
  secondsOf,
  usualConcurrency,
} from './assumptions.ts';
import { dollarsOf, totalOf } from './dollars-of.ts';
import { money, whole } from './format-number.ts';
import { breakEvenConcurrency, environmentMonthDollars, evenConcurrency, messagesAt } from './functions.ts';
import { markdownTable } from './markdown-table.ts';
import { operations } from './operations.ts';
import { priceList, priceOf, prices } from './prices.ts';

const million = 1e6;

/** One request at a time, the usual, and the maximum by default. */
const concurrencies = [1, usualConcurrency, requestsPerEnvironment];

/**
 * The dollars of a million streamed messages.
 * @param concurrency see `dollarsOf`
 * @param factor multiplies all rates of the web function
 */
export function dollarsOfMessages(concurrency?: number, factor = 1): number {
  const dollars = dollarsOf(operations['send-message, streamed'], undefined, concurrency);
  return million * (totalOf(dollars) + (factor - 1) * dollars.functions);
}

/** An environment that exists for so long after its only reply costs as much as a Lambda function. */
const idleSeconds = secondsOf('SendMessage') * (1 / breakEvenConcurrency() - 1);

/** The part of docs/cost.md that compares the values of the setting `webFunctions`. */
export const webFunctionsPart = (): string => `## Web functions

The setting \`webFunctions\` says what serves messages and new chats. With \`uploads\`, Lambda functions do: each reply has an
environment of its own, and Lambda bills the time that it waits for the model. With \`all\`, a web function does: many replies
share an environment, and AWS bills [requests, active processor time, and the memory of an environment for as long as it
exists](https://docs.aws.amazon.com/lambda/latest/dg/web-functions.html). So the cost depends on the **concurrency**: how
many requests are in an environment, as the mean from its start to its end. With \`none\`, messages cost as with \`uploads\`,
but without CloudFront. The gateway costs the same with all three.

Dollars of the streamed messages of a month, without the idle month:

${markdownTable([
  [
    'messages',
    '`uploads`',
    ...concurrencies.map((each) => `\`all\`, concurrency ${each}`),
    '`all`, evenly spread',
  ],
  ...[1e4, 1e6, 1e8].map(monthLine),
])}

The last column assumes as many messages by night as by day, as few environments as \`requestsPerEnvironment\` allows
(${requestsPerEnvironment}), and one environment that exists all month. Its concurrency is in parentheses.

- **The break-even** is a concurrency of ${money(breakEvenConcurrency())}: below it, Lambda functions cost less. A single reply breaks even if
  its environment ends within ${idleSeconds.toFixed(1)} s after it. How long Lambda keeps an environment without requests is not known here.
  If it keeps one all month, the break-even is ${roughly(messagesAt(breakEvenConcurrency()))} messages a month. With fewer messages, \`all\` then costs
  more: at most ${money(environmentMonthDollars())} dollars a month.
- **A concurrency of ${usualConcurrency}** is reached by ${roughly(messagesAt(usualConcurrency))} evenly spread messages a month, or by fewer that come together.
  A million messages then cost ${money(dollarsOfMessages(usualConcurrency))} dollars instead of ${money(dollarsOfMessages())}.

**The rates of web functions are assumptions.** On ${priceList.webFunctionsSoughtOn}, no public page was found that states them: see
[AWS's price page](${prices.processorSecond.source}). A request is assumed to cost as much as an invocation of a Lambda
function, and processor time and memory as much as in Lambda MicroVMs on Arm, which AWS bills by the same units. All ${environmentGigabytes} GB
of an environment are counted, even if AWS bills only the memory in use. If all these rates are wrong by a factor of two, a
million streamed messages cost:

${markdownTable([
  ['rates', ...concurrencies.map((each) => `concurrency ${each}`), 'break-even: concurrency'],
  rateLine('half', 0.5),
  rateLine('as assumed', 1),
  rateLine('double', 2),
])}

A request takes ${processorMilliseconds} ms of processor time, as a streamed reply in a local run with the gateway and all emulators
([performance.md](performance.md)). A warm web function alone takes less, a cold one more. Each further 10 ms cost ${money(million * 0.01 * priceOf('processorSecond'))} dollars
for a million messages.
`;

function monthLine(messages: number): string[] {
  const dollarsAt = (concurrency?: number) => money((messages / million) * dollarsOfMessages(concurrency));
  const even = evenConcurrency(messages);
  return [
    whole(messages),
    dollarsAt(),
    ...concurrencies.map(dollarsAt),
    `${dollarsAt(even)} (${even.toPrecision(2)})`,
  ];
}

const rateLine = (name: string, factor: number): string[] => [
  name,
  ...concurrencies.map((each) => money(dollarsOfMessages(each, factor))),
  money(breakEvenConcurrency(factor)),
];

/** Two significant digits. */
const roughly = (value: number): string => whole(Number(value.toPrecision(2)));
