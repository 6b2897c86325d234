import { processTree } from '#support/process-tree.ts';
import { type Figures, type PhaseName, pageOffsets, uploadMegabytes } from './figures.ts';
import { externalUserId, type LoadClient, loadClientOf } from './load-client.ts';
import { measureBatch } from './measure-batch.ts';
import { measureReplies, type Replies } from './measure-replies.ts';
import type { Provider } from './provider.ts';
import type { RunReport } from './report.ts';
import { pageLength } from './seeded-pages.ts';
import { type Sizes, width } from './sizes.ts';
import { percentile, percentiles } from './statistics.ts';
import type { StartedSubject, Subject } from './subject.ts';

export interface MeasureOptions {
  started: StartedSubject;
  provider: Provider;
  sizes: Sizes;
  phases: ReadonlySet<PhaseName>;
  log(line: string): void;
}

type Measured = Omit<RunReport, 'run' | 'subject'>;

const megabyte = 1024 * 1024;
const paced = { first: 100, chunk: 10 };
const median = (values: readonly number[]) => percentile(values, 0.5);

type Phases = Partial<Record<PhaseName, () => Promise<void>>>;

/** What the phases of one run measure with, and where they add their figures. */
interface PhaseContext extends Pick<MeasureOptions, 'provider' | 'sizes'> {
  subject: Subject;
  client: LoadClient;
  measured: Measured;
  add(figures: Figures): void;
}

/** Measures all phases of one run of one server, in a fixed order, on one store. */
export async function measureSubject(options: MeasureOptions): Promise<Measured> {
  const { started, provider, sizes, phases, log } = options;
  const { subject, firstStart } = started;
  const measured: Measured = { figures: {}, distributions: {}, errors: [] };
  const add = (figures: Figures): void => {
    Object.assign(measured.figures, figures);
  };

  if (phases.has('start')) add({ firstStart, secondStart: await subject.restart() });
  const client = loadClientOf(subject.target);
  const context = { provider, sizes, subject, client, measured, add };
  const steps: Phases = {
    ...replyPhases(context),
    batch: () => addBatch(context),
    uploads: () => addUploads(context),
    lists: async () => add(await measurePages(subject, client, sizes.pages)),
    memory: () => addMemory(context),
  };
  try {
    for (const streamed of [true, false])
      await send(context, { count: sizes.warmUp / 2, atOnce: 4, streamed });
    for (const [phase, step] of Object.entries(steps) as [PhaseName, () => Promise<void>][]) {
      if (!phases.has(phase)) continue;
      const from = performance.now();
      await step();
      log(`${phase}, ${((performance.now() - from) / 1000).toFixed(1)} s`);
    }
  } finally {
    client.close();
  }
  return measured;
}

interface SendKind {
  count: number;
  atOnce: number;
  streamed: boolean;
}

async function send({ client, subject, sizes, measured }: PhaseContext, kind: SendKind): Promise<Replies> {
  const all = await measureReplies({ client, pid: subject.pid, seconds: sizes.phaseSeconds, ...kind });
  measured.errors.push(...all.errors);
  if (all.replies.length === 0) throw new Error(`All replies failed: ${all.errors[0]}`);
  return all;
}

function replyPhases(context: PhaseContext): Phases {
  const { provider, sizes, add } = context;
  const { distributions } = context.measured;
  return {
    async single() {
      const { replies, ...all } = await send(context, { count: sizes.single, atOnce: 1, streamed: true });
      const firstDeltas = replies.map(({ firstDelta }) => firstDelta);
      distributions.single = percentiles(firstDeltas).map(rounded);
      add({
        singleFirstByte: median(replies.map(({ firstByte }) => firstByte)),
        singleFirstDelta: median(firstDeltas),
        singleFirstDelta95: percentile(firstDeltas, 0.95),
        singleClosed: median(replies.map(({ closed }) => closed)),
        singleProcessor: all.processorMilliseconds / replies.length,
      });
    },
    async parallel() {
      const before = await provider.calls();
      const { replies, ...all } = await send(context, {
        count: sizes.parallel,
        atOnce: width,
        streamed: true,
      });
      const firstDeltas = replies.map(({ firstDelta }) => firstDelta);
      distributions.parallel = percentiles(firstDeltas).map(rounded);
      add({
        parallelFirstByte: median(replies.map(({ firstByte }) => firstByte)),
        parallelFirstDelta: median(firstDeltas),
        parallelFirstDelta95: percentile(firstDeltas, 0.95),
        parallelRate: replies.length / all.seconds,
        parallelProcessor: all.processorMilliseconds / replies.length,
        parallelModelCalls: ((await provider.calls()) - before) / replies.length,
      });
    },
    async paced() {
      await provider.setPace(paced);
      const { replies, seconds } = await send(context, {
        count: sizes.paced,
        atOnce: width,
        streamed: true,
      }).finally(() => provider.setPace({ first: 0, chunk: 0 }));
      add({
        pacedFirstByte: median(replies.map(({ firstByte }) => firstByte)),
        pacedFirstDelta: median(replies.map(({ firstDelta }) => firstDelta - paced.first)),
        pacedRate: replies.length / seconds,
      });
    },
    async plain() {
      const { replies, ...all } = await send(context, { count: sizes.plain, atOnce: width, streamed: false });
      add({
        plainClosed: median(replies.map(({ closed }) => closed)),
        plainRate: replies.length / all.seconds,
        plainProcessor: all.processorMilliseconds / replies.length,
      });
    },
  };
}

async function addBatch({ client, subject, sizes, measured, add }: PhaseContext): Promise<void> {
  const batch = await measureBatch(client, subject.pid, {
    count: sizes.batch,
    seconds: sizes.batchSeconds,
  });
  measured.errors.push(...batch.errors);
  measured.batchSeconds = batch.endings;
  add({
    batchAccepted: batch.accepted,
    batchEnded: batch.ended,
    batchRate: sizes.batch / batch.ended,
    batchComplete: batch.complete,
    batchProcessor: batch.processorMilliseconds / sizes.batch,
  });
}

async function addUploads({ client, sizes, add }: PhaseContext): Promise<void> {
  for (const megabytes of uploadMegabytes) {
    const content = Buffer.alloc(megabytes * megabyte, 'A line of an uploaded file.\n');
    const took = await repeat(sizes.uploads, () => client.upload(content));
    add({ [`upload${megabytes}`]: median(took) });
  }
}

async function addMemory({ subject, measured, add }: PhaseContext): Promise<void> {
  const [server, ...emulators] = await processTree(subject.pid);
  if (server === undefined) throw new Error(`The server ${subject.name} has ended`);
  const all = [server, ...emulators];
  add({
    serverMemory: server.residentBytes / megabyte,
    emulatorMemory: sumOf(emulators, ({ residentBytes }) => residentBytes) / megabyte,
    peakMemory: sumOf(all, ({ peakBytes }) => peakBytes) / megabyte,
    threads: sumOf(all, ({ threads }) => threads),
  });
  const parts = await subject.memoryByPart?.();
  if (parts !== undefined)
    measured.memory = [
      ...parts.map(({ part, threads, bytes }) => ({ part, threads, megabytes: bytes / megabyte })),
      ...emulators.map(({ name, residentBytes }) => ({
        part: `emulator ${name}`,
        threads: 0,
        megabytes: residentBytes / megabyte,
      })),
    ];
}

/** Reads before the measured ones, for the one-time work of a list's function. */
const readsBefore = 3;

async function measurePages(subject: Subject, client: LoadClient, count: number): Promise<Figures> {
  const { total, chatId } = await subject.seedPages();
  const figures: Record<string, number> = {};
  const lists = {
    chats: '/chats?',
    messages: `/chats/${chatId}/messages?external_user_id=${externalUserId}&`,
  };
  for (const [list, path] of Object.entries(lists))
    for (const offset of pageOffsets) {
      const read = async () => {
        const page = await client.readPage(`${path}limit=${pageLength}&offset=${offset}`);
        if (page.count !== pageLength || page.total !== total)
          throw new Error(`${list} at ${offset}: ${page.count} items of ${page.total}`);
        return page.took;
      };
      await repeat(readsBefore, read);
      figures[`${list}${offset}`] = median(await repeat(count, read));
    }
  return figures;
}

async function repeat<Result>(count: number, work: () => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  for (let time = 0; time < count; time += 1) results.push(await work());
  return results;
}

const rounded = (value: number): number => Math.round(value * 1000) / 1000;

const sumOf = <Each>(all: readonly Each[], value: (one: Each) => number): number =>
  all.reduce((sum, one) => sum + value(one), 0);
