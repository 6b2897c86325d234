import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { processTree } from '#support/process-tree.ts';
import { loadClientOf, type TimedReply } from './load-client.ts';
import { createChats } from './measure-replies.ts';
import { print } from './print.ts';
import { startProvider } from './provider.ts';
import { startService } from './start-service.ts';
import { percentiles, sumOf } from './statistics.ts';

/** Milliseconds until the model's first chunk, and between two chunks. */
const [first, chunk] = [200, 100];
const megabyte = 1024 * 1024;

interface Stream extends TimedReply {
  /** Of each delta: milliseconds between the model and the client. */
  lags: number[];
}

const folder = await mkdtemp(join(tmpdir(), 'many-streams-'));
const provider = await startProvider();
const service = await startService(folder, provider.url);
const client = loadClientOf(service.target);

const resident = async (): Promise<number> =>
  sumOf(await processTree(service.pid), ({ residentBytes }) => residentBytes) / megabyte;

async function read(chatId: number): Promise<Stream> {
  const lags: number[] = [];
  const reply = await client.streamReply(chatId, `Message for ${chatId}`, (text) => {
    for (const [, sent] of text.matchAll(/@(\d+)/g)) lags.push(Date.now() - Number(sent));
  });
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
  await provider.setPace({ first, chunk, stampedChunks: Math.round((seconds * 1000 - first) / chunk) + 1 });
  const chats = await createChats(client, count);
  const before = await resident();
  let most = before;
  const sampler = setInterval(async () => {
    most = Math.max(most, await resident());
  }, 500);
  const failures: string[] = [];
  const results = await Promise.all(
    chats.map(async (chatId, index) => {
      await after((overSeconds * 1000 * index) / count);
      return read(chatId).catch((error: unknown) => void failures.push(String(error)));
    }),
  );
  clearInterval(sampler);
  const streams = results.filter((stream) => stream !== undefined);
  const longest = Math.max(...streams.map(({ closed }) => closed / 1000));
  const more = most - before;
  print({
    ...{ title, whole: streams.length, failures: failures.slice(0, 3) },
    firstByte: percentiles(streams.map(({ firstByte }) => firstByte)),
    firstDeltaDelay: percentiles(streams.map(({ firstDelta }) => firstDelta - first)),
    lag: percentiles(streams.flatMap(({ lags }) => lags)),
    longest: { seconds: longest, ofItsLength: longest / seconds },
    megabytes: { before: Math.round(before), more: Math.round(more), each: more / count },
  });
  return more;
}

try {
  await measure('warm', { count: 120, seconds: 1, overSeconds: 8 });
  await measure('200 streams of 3.2 s at once', { count: 200, seconds: 3.2 });
  const few = await measure('100 streams of 10 s over 5 s', { count: 100, seconds: 10, overSeconds: 5 });
  const many = await measure('500 streams of 10 s over 5 s', { count: 500, seconds: 10, overSeconds: 5 });
  print({ megabytesForEachMoreStream: (many - few) / 400 });
  await measure('500 streams of 10 s at once', { count: 500, seconds: 10 });
} finally {
  client.close();
  await service.close();
  await provider.close();
  await rm(folder, { recursive: true, force: true });
}
