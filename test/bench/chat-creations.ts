import { randomUUID } from 'node:crypto';
import { Command } from 'commander';
import type { NewChat } from '#domain/chats/chat-store.ts';
import { newChats } from '#runtime/composition/services.ts';
import { createTenant } from '#support/service.ts';
import { loadClientOf } from './load-client.ts';
import { startAwsTime } from './start-aws-time.ts';
import { percentile } from './statistics.ts';

// How many chats one workspace creates in a second, with the latencies of DynamoDB in AWS: in the store, and over HTTP.
const options = new Command('npm run bench:chats --')
  .option('--creators <number>', 'chats that are created at the same time', Number, 64)
  .option('--seconds <number>', 'of each measurement', Number, 10)
  .option('--at-once <number>', 'chats that one moment creates', Number, 1000)
  .option('--web-functions <setting>', 'the setting webFunctions', 'all')
  .option('--slower <number>', 'multiply the latencies, so that the processor does not limit', Number, 1)
  .parse()
  .opts<{
    creators: number;
    seconds: number;
    atOnce: number;
    webFunctions: 'all' | 'uploads' | 'none';
    slower: number;
  }>();

const run = await startAwsTime({ webFunctions: options.webFunctions }, options.slower);

type Creation = (number: number) => Promise<unknown>;

/** Runs so many creators, and prints what their chats took and consumed, cancelled transactions included. */
async function measure(
  name: string,
  create: Creation,
  creators: number,
  goesOn: (started: number) => boolean,
): Promise<void> {
  const before = run.dynamoCalls().length;
  const start = performance.now();
  const times: number[] = [];
  let started = 0;
  const creator = async (): Promise<void> => {
    while (goesOn(started)) {
      started += 1;
      const sent = performance.now();
      await create(started);
      times.push(performance.now() - sent);
    }
  };
  await Promise.all(Array.from({ length: creators }, creator));
  const seconds = (performance.now() - start) / 1000;
  const calls = run.dynamoCalls().slice(before);
  const transactions = calls.filter(({ target }) => target === 'TransactWriteItems');
  const unitsOf = (kind: 'readUnits' | 'writeUnits'): number =>
    calls.reduce((sum, { consumed }) => sum + consumed[kind], 0) / times.length;
  console.log(
    JSON.stringify({
      ...{ name, creators, created: times.length, seconds: rounded(seconds) },
      aSecond: Math.round(times.length / seconds),
      milliseconds: { p50: Math.round(percentile(times, 0.5)), p99: Math.round(percentile(times, 0.99)) },
      transactions: transactions.length,
      cancelled: transactions.filter(({ status }) => status !== 200).length,
      unitsEach: { read: rounded(unitsOf('readUnits')), write: rounded(unitsOf('writeUnits')) },
    }),
  );
}

const rounded = (value: number): number => Math.round(value * 100) / 100;

const forSeconds = (seconds: number) => {
  const end = performance.now() + seconds * 1000;
  return (): boolean => performance.now() < end;
};

/** Creations in the store, with a user and an idempotency key each. */
const inStore = ({ workspaceId, agentId }: Pick<NewChat, 'workspaceId' | 'agentId'>): Creation => {
  const store = newChats();
  return (number) =>
    store.createWithKey(
      { workspaceId, agentId, name: `Chat ${number}`, externalUserId: `user-${number % 200}` },
      { workspaceId, hash: randomUUID(), fingerprint: 'bench', at: Date.now() },
    );
};

try {
  const { creators, seconds, atOnce } = options;
  await measure('store, to warm up', inStore(await createTenant()), creators, (started) => started < 2000);
  await measure('store, one creator', inStore(await createTenant()), 1, (started) => started < 50);
  await measure('store', inStore(await createTenant()), creators, forSeconds(seconds));
  await measure('store, at once', inStore(await createTenant()), atOnce, (started) => started < atOnce);
  const { apiKey, agentId } = await createTenant();
  const client = loadClientOf({ baseUrl: `${run.url}/v1`, apiKey, agentId });
  await measure('HTTP, to warm up', client.createChat, creators, (started) => started < 1000);
  await measure('HTTP', client.createChat, creators, forSeconds(seconds));
  client.close();
} finally {
  await run.close();
}
