import { processTree } from '#support/process-tree.ts';
import { externalUserId, type LoadClient, loadClientOf } from './load-client.ts';
import { measureBatch } from './measure-batch.ts';
import { measureCompletions } from './measure-completions.ts';
import { measureReplies } from './measure-replies.ts';
import type { Provider } from './provider.ts';
import { type Server, seededPages } from './server.ts';
import { type Sizes, width } from './sizes.ts';
import { median, percentile, sumOf } from './statistics.ts';

const megabyte = 1024 * 1024;
const uploadMegabytes = [1, 10, 50];

/** Reads before the measured ones, for the one-time work of a list's function. */
const readsBefore = 3;

interface ReplyPhase {
  title: string;
  atOnce: number;
  streamed: boolean;
  pace?: { first: number; chunk: number };
}

const replyPhases = {
  single: { title: 'one at a time', atOnce: 1, streamed: true },
  parallel: { title: `${width} at once`, atOnce: width, streamed: true },
  paced: {
    ...{ title: `${width} at once, paced model`, atOnce: width, streamed: true },
    pace: { first: 100, chunk: 10 },
  },
  plain: { title: `${width} at once, plain`, atOnce: width, streamed: false },
} satisfies Record<string, ReplyPhase>;

type Figures = Record<string, number>;

/** What the phases of one run measure with, and where they report errors. */
interface Context {
  server: Server;
  provider: Provider;
  sizes: Sizes;
  client: LoadClient;
  errors: string[];
}

type Phase = (context: Context) => Promise<Figures>;

/** In the order of the measurement: all phases of a run use one store. */
const phases = {
  single: (context) => measureReplyPhase(context, 'single'),
  parallel: (context) => measureReplyPhase(context, 'parallel'),
  paced: (context) => measureReplyPhase(context, 'paced'),
  plain: (context) => measureReplyPhase(context, 'plain'),
  async completions({ server, client, sizes, errors }) {
    if (!server.servesCompletions) return {};
    const measured = await measureCompletions(server, client, {
      ...{ count: sizes.completions, seconds: sizes.phaseSeconds },
    });
    errors.push(...measured.errors);
    return measured.figures;
  },
  async batch({ client, server, sizes, errors }) {
    const measured = await measureBatch(client, server.pid, {
      ...{ count: sizes.batch, seconds: sizes.batchSeconds },
    });
    errors.push(...measured.errors);
    return measured.figures;
  },
  uploads: measureUploads,
  lists: measurePages,
  memory: measureMemory,
} satisfies Record<string, Phase>;

export const phaseNames = Object.keys(phases) as (keyof typeof phases)[];

export interface MeasureOptions extends Pick<Context, 'server' | 'provider' | 'sizes'> {
  only: readonly string[];
  log(line: string): void;
}

/** Measures the phases of one run of one server. */
export async function measureServer({
  only,
  log,
  ...given
}: MeasureOptions): Promise<{ figures: Figures; errors: string[] }> {
  const client = loadClientOf(given.server.target);
  const context: Context = { ...given, client, errors: [] };
  const figures: Figures = {};
  try {
    for (const streamed of [true, false])
      await sendMessages(context, { count: given.sizes.warmUp / 2, atOnce: 4, streamed });
    for (const phase of phaseNames.filter((name) => only.includes(name))) {
      const from = performance.now();
      Object.assign(figures, await phases[phase](context));
      log(`${phase}, ${((performance.now() - from) / 1000).toFixed(1)} s`);
    }
  } finally {
    client.close();
  }
  return { figures, errors: context.errors };
}

async function sendMessages(
  { client, server, sizes, errors }: Context,
  kind: { count: number; atOnce: number; streamed: boolean },
): ReturnType<typeof measureReplies> {
  const measured = await measureReplies({ client, pid: server.pid, seconds: sizes.phaseSeconds, ...kind });
  errors.push(...measured.errors);
  if (measured.replies.length === 0) throw new Error(`All replies failed: ${errors[0]}`);
  return measured;
}

async function measureReplyPhase(context: Context, name: keyof typeof replyPhases): Promise<Figures> {
  const { provider, sizes } = context;
  const { title, pace, ...kind }: ReplyPhase = replyPhases[name];
  const immediate = { first: 0, chunk: 0 };
  await provider.setPace(pace ?? immediate);
  const measured = await sendMessages(context, { count: sizes[name], ...kind });
  const { replies } = measured;
  const calls = await provider.calls();
  await provider.setPace(immediate);
  const firstDeltas = replies.map(({ firstDelta }) => firstDelta - (pace?.first ?? 0));
  const firstDelta = `first delta${pace === undefined ? '' : `, less the model's ${pace.first} ms`}`;
  const figures = {
    ...(kind.streamed && {
      'first byte, ms': median(replies.map(({ firstByte }) => firstByte)),
      [`${firstDelta}, ms`]: median(firstDeltas),
      [`${firstDelta}, 95th percentile, ms`]: percentile(firstDeltas, 0.95),
    }),
    'reply complete and stored, ms': median(replies.map(({ closed }) => closed)),
    'replies a second': replies.length / measured.seconds,
    'processor time a reply, ms': measured.processorMilliseconds / replies.length,
    'model calls a reply': calls.length / replies.length,
  };
  return Object.fromEntries(Object.entries(figures).map(([label, value]) => [`${title}: ${label}`, value]));
}

async function measureUploads({ client, sizes }: Context): Promise<Figures> {
  const figures: Figures = {};
  for (const megabytes of uploadMegabytes) {
    const content = Buffer.alloc(megabytes * megabyte, 'A line of an uploaded file.\n');
    const took = await repeat(sizes.uploads, () => client.upload(content));
    figures[`upload of ${megabytes} MB, ms`] = median(took);
  }
  return figures;
}

async function measurePages({ server, client, sizes }: Context): Promise<Figures> {
  await server.seedPages();
  const { total, length, offsets } = seededPages;
  const figures: Figures = {};
  const lists = {
    chats: '/chats?',
    messages: `/chats/${total}/messages?external_user_id=${externalUserId}&`,
  };
  for (const [list, path] of Object.entries(lists))
    for (const offset of offsets) {
      const read = async () => {
        const page = await client.readPage(`${path}limit=${length}&offset=${offset}`);
        if (page.count !== length || page.total !== total)
          throw new Error(`${list} at ${offset}: ${page.count} items of ${page.total}`);
        return page.took;
      };
      await repeat(readsBefore, read);
      figures[`${length} ${list} at offset ${offset}, ms`] = median(await repeat(sizes.pages, read));
    }
  return figures;
}

async function measureMemory({ server }: Context): Promise<Figures> {
  const [main, ...emulators] = await processTree(server.pid);
  if (main === undefined) throw new Error('The server has ended');
  const all = [main, ...emulators];
  const residentOf = (processes: typeof all) => sumOf(processes, (one) => one.residentBytes) / megabyte;
  const figures: Figures = {
    'resident after the run: server process, MB': residentOf([main]),
    'resident after the run: emulator processes, MB': residentOf(emulators),
    'most that was ever resident, all processes, MB': sumOf(all, (one) => one.peakBytes) / megabyte,
    'threads after the run, all processes': sumOf(all, ({ threads }) => threads),
  };
  for (const { part, threads, bytes } of (await server.memoryByPart?.()) ?? []) {
    figures[`memory after the run: ${part}, MB`] = bytes / megabyte;
    if (threads > 1) figures[`memory after the run: ${part}, threads`] = threads;
  }
  for (const [name, processes] of Map.groupBy(emulators, (one) => one.name))
    figures[`memory after the run: emulator ${name}, MB`] = residentOf(processes);
  return figures;
}

async function repeat<Result>(count: number, work: () => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  for (let time = 0; time < count; time += 1) results.push(await work());
  return results;
}
