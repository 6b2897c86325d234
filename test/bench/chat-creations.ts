import { randomUUID } from 'node:crypto';
import { Command } from 'commander';
import { newChats } from '#runtime/composition/services.ts';
import { clientTimeouts, waitLonger } from '#runtime/environment/environment.ts';
import { createTenant } from '#support/service.ts';
import { eachAtOnce } from './each-at-once.ts';
import { processorMilliseconds } from './measure-replies.ts';
import { print } from './print.ts';
import { startStack } from './start-stack.ts';
import { percentiles, sumOf } from './statistics.ts';

// How many chats one workspace creates in a second, with the latencies of DynamoDB in AWS: in the store, and over HTTP.
const options = new Command('npm run bench:chats --')
  .option('--web-functions <setting>', 'the setting webFunctions: all, uploads or none', 'all')
  .option('--slower <number>', 'multiply the latencies, so that the processor does not limit', Number, 1)
  .parse()
  .opts<{ webFunctions: string; slower: number }>();

/** Chats that are created at the same time. */
const creators = 64;
/** Chats that one moment creates. */
const atOnce = 1000;
/** Of each measurement. */
const seconds = 10;

// All callers of the store share one client here: their requests would wait for one of its 50 sockets, and for this thread,
// until they time out. In AWS they are in many environments, each with a client of its own.
waitLonger();
Object.assign(clientTimeouts, { httpAgent: { maxSockets: atOnce } });

const stack = await startStack({ settings: { webFunctions: options.webFunctions }, slower: options.slower });

type Creation = (number: number) => Promise<unknown>;

const parts = ['mainThread', 'functions', 'emulator'] as const;

/** Processor milliseconds since the start. The client, the store's callers, the gateway and the wire are in the main thread. */
async function processorTimes(): Promise<Record<(typeof parts)[number], number>> {
  const millisecondsOf = ({ user, system }: NodeJS.CpuUsage): number => (user + system) / 1000;
  const mainThread = millisecondsOf(process.threadCpuUsage());
  const all = millisecondsOf(process.cpuUsage());
  return {
    mainThread,
    functions: all - mainThread,
    emulator: (await processorMilliseconds(process.pid)) - all,
  };
}

/** Creates chats, and prints what they took and consumed, cancelled transactions included. */
async function measure(
  name: string,
  create: Creation,
  atOnce: number,
  numbers: Iterable<number>,
): Promise<void> {
  const before = stack.dynamoCalls().length;
  const processorBefore = await processorTimes();
  const start = performance.now();
  const times: number[] = [];
  await eachAtOnce(atOnce, numbers, async (number) => {
    const sent = performance.now();
    await create(number);
    times.push(performance.now() - sent);
  });
  const took = (performance.now() - start) / 1000;
  const processor = await processorTimes();
  const calls = stack.dynamoCalls().slice(before);
  const transactions = calls.filter(({ target }) => target === 'TransactWriteItems');
  const unitsOf = (kind: 'readUnits' | 'writeUnits'): number =>
    rounded(sumOf(calls, ({ consumed }) => consumed[kind]) / times.length);
  print({
    ...{ name, creators: atOnce, created: times.length, seconds: rounded(took) },
    ...{ aSecond: Math.round(times.length / took), milliseconds: percentiles(times) },
    transactions: transactions.length,
    cancelled: transactions.filter(({ status }) => status !== 200).length,
    processorMillisecondsEach: Object.fromEntries(
      parts.map((part) => [part, rounded((processor[part] - processorBefore[part]) / times.length)]),
    ),
    unitsEach: { read: unitsOf('readUnits'), write: unitsOf('writeUnits') },
  });
}

const rounded = (value: number): number => Math.round(value * 100) / 100;

/** Rising numbers, at most so many, until the seconds have passed. */
function* numbersFor({ count = Number.POSITIVE_INFINITY, seconds = Number.POSITIVE_INFINITY }) {
  const end = performance.now() + seconds * 1000;
  for (let number = 1; number <= count && performance.now() < end; number += 1) yield number;
}

/** Creations in the store of a new workspace, with a user and an idempotency key each. */
async function inStore(): Promise<Creation> {
  const { workspaceId, agentId } = await createTenant();
  return (number) =>
    newChats().createWithKey(
      { workspaceId, agentId, name: `Chat ${number}`, externalUserId: `user-${number % 200}` },
      { workspaceId, hash: randomUUID(), fingerprint: 'bench', at: Date.now() },
    );
}

try {
  await measure('store, to warm up', await inStore(), creators, numbersFor({ count: 2000 }));
  await measure('store, one creator', await inStore(), 1, numbersFor({ count: 50 }));
  await measure('store', await inStore(), creators, numbersFor({ seconds }));
  await measure('store, at once', await inStore(), atOnce, numbersFor({ count: atOnce }));
  const { createChat } = await stack.newClient();
  await measure('HTTP, to warm up', createChat, creators, numbersFor({ count: 1000 }));
  await measure('HTTP', createChat, creators, numbersFor({ seconds }));
} finally {
  await stack.close();
}
