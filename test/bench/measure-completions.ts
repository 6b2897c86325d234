import { completionClientOf } from './completion-client.ts';
import type { LoadClient } from './load-client.ts';
import { measureReplies, type Replies } from './measure-replies.ts';
import type { Server } from './server.ts';
import { width } from './sizes.ts';
import { median } from './statistics.ts';

/** The routes are measured in turn, so that other load on the machine slows down both. */
const rounds = 5;

const firstDelta = ({ replies }: Replies): number => median(replies.map((reply) => reply.firstDelta));
const perSecond = ({ replies, seconds }: Replies): number => replies.length / seconds;
const processorTime = ({ replies, processorMilliseconds }: Replies): number =>
  processorMilliseconds / replies.length;

const comparisons: readonly {
  title: string;
  atOnce: number;
  streamed: boolean;
  figures: Record<string, (measured: Replies) => number>;
}[] = [
  { title: 'one at a time', atOnce: 1, streamed: true, figures: { 'first delta': firstDelta } },
  {
    ...{ title: `${width} at once`, atOnce: width, streamed: true },
    figures: {
      'first delta': firstDelta,
      'replies a second': perSecond,
      'processor time a reply': processorTime,
    },
  },
  {
    ...{ title: `${width} at once, plain`, atOnce: width, streamed: false },
    figures: { 'replies a second': perSecond },
  },
];

/** Compares the replies of complete-chat with those of send-message: medians of the rounds' ratios. */
export async function measureCompletions(
  { target, pid }: Pick<Server, 'target' | 'pid'>,
  client: LoadClient,
  sizes: { count: number; seconds: number },
): Promise<{ figures: Record<string, number>; errors: string[] }> {
  const completions = completionClientOf(target);
  const errors: string[] = [];
  const measure = async (route: typeof completions, kind: { atOnce: number; streamed: boolean }) => {
    const count = kind.atOnce === 1 ? sizes.count / 10 : sizes.count;
    const measured = await measureReplies({ client: route, pid, ...kind, count, seconds: sizes.seconds });
    errors.push(...measured.errors);
    return measured;
  };
  try {
    await measure(completions, { atOnce: 4, streamed: true });
    const figures: Record<string, number> = {};
    for (const { title, figures: read, ...kind } of comparisons) {
      const pairs: { own: Replies; other: Replies }[] = [];
      for (let round = 1; round <= rounds; round += 1) {
        const own = round % 2 === 1 ? await measure(completions, kind) : undefined;
        const other = await measure(client, kind);
        pairs.push({ own: own ?? (await measure(completions, kind)), other });
      }
      for (const [name, figure] of Object.entries(read))
        figures[`complete-chat / send-message: ${title}, ${name}`] = median(
          pairs.map(({ own, other }) => figure(own) / figure(other)),
        );
    }
    return { figures, errors };
  } finally {
    completions.close();
  }
}
