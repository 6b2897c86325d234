import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { processTree } from '#support/process-tree.ts';
import { type LoadClient, loadClientOf, type TimedReply } from './load-client.ts';
import { startProvider } from './provider.ts';
import { startService } from './start-service.ts';
import { percentile } from './statistics.ts';

/** Milliseconds until the model's first chunk. */
const first = 200;
const megabyte = 1024 * 1024;

interface Stream extends TimedReply {
  /** Of each delta: milliseconds between the model and the client. */
  lags: number[];
}

const folder = await mkdtemp(join(tmpdir(), 'many-streams-'));
const provider = await startProvider();
const { subject } = await startService({ folder, model: provider.url });
const client = loadClientOf(subject.target);

const resident = async (): Promise<number> =>
  (await processTree(subject.pid)).reduce((sum, { residentBytes }) => sum + residentBytes, 0) / megabyte;

async function chatsOf(count: number): Promise<number[]> {
  const chats: number[] = [];
  for (let index = 0; index < count; index += 4)
    chats.push(...(await Promise.all([1, 2, 3, 4].map(() => client.createChat()))));
  return chats.slice(0, count);
}

async function read(own: LoadClient, chatId: number): Promise<Stream> {
  const lags: number[] = [];
  const reply = await own.streamReply(chatId, `Message for ${chatId}`, (text) =>
    lags.push(...[...text.matchAll(/@(\d+)/g)].map(([, sent]) => Date.now() - Number(sent))),
  );
  return { ...reply, lags };
}

interface Load {
  count: number;
  /** The length of each stream. */
  seconds: number;
  /** The streams begin evenly over this time. */
  overSeconds?: number;
}

/** Runs streams and prints their figures. @returns by how many megabytes the service grew */
async function measure(title: string, { count, seconds, overSeconds = 0 }: Load): Promise<number> {
  const chunk = 100;
  const chunks = Math.round((seconds * 1000 - first) / chunk) + 1;
  await provider.setPace({ first, chunk, stamped: true, chunks });
  const chats = await chatsOf(count);
  const before = await resident();
  let most = before;
  const sampler = setInterval(async () => {
    most = Math.max(most, await resident());
  }, 500);
  const results = await Promise.allSettled(
    chats.map(async (chatId, index) => {
      await after((overSeconds * 1000 * index) / count);
      return read(client, chatId);
    }),
  );
  clearInterval(sampler);
  const streams = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const failures = results.flatMap((result) => (result.status === 'rejected' ? [String(result.reason)] : []));
  const longest = Math.max(...streams.map(({ closed }) => closed / 1000));
  console.log(
    JSON.stringify({
      title,
      whole: streams.length,
      failures: failures.slice(0, 3),
      firstByte: figuresOf(streams.map(({ firstByte }) => firstByte)),
      firstDeltaDelay: figuresOf(streams.map(({ firstDelta }) => firstDelta - first)),
      lag: figuresOf(streams.flatMap(({ lags }) => lags)),
      longest: { seconds: longest, ofItsLength: longest / seconds },
      megabytes: {
        before: Math.round(before),
        more: Math.round(most - before),
        each: (most - before) / count,
      },
    }),
  );
  return most - before;
}

/** In whole milliseconds. */
const figuresOf = (values: readonly number[]): Record<string, number> =>
  Object.fromEntries(
    [50, 95, 99].map((percent) => [`p${percent}`, Math.round(percentile(values, percent / 100))]),
  );

try {
  await measure('warm', { count: 120, seconds: 1, overSeconds: 8 });
  await measure('200 streams of 3.2 s at once', { count: 200, seconds: 3.2 });
  const few = await measure('100 streams of 10 s over 5 s', { count: 100, seconds: 10, overSeconds: 5 });
  const many = await measure('500 streams of 10 s over 5 s', { count: 500, seconds: 10, overSeconds: 5 });
  console.log(JSON.stringify({ megabytesForEachMoreStream: (many - few) / 400 }));
  await measure('500 streams of 10 s at once', { count: 500, seconds: 10 });
} finally {
  client.close();
  await subject.close();
  await provider.close();
  await rm(folder, { recursive: true, force: true });
}
