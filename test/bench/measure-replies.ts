import { processTree } from '#support/process-tree.ts';
import { eachAtOnce } from './each-at-once.ts';
import type { LoadClient, TimedReply } from './load-client.ts';
import { replyTo } from './reply-text.ts';
import { sumOf } from './statistics.ts';

export interface RepliesOptions {
  client: Pick<LoadClient, 'createChat' | 'streamReply' | 'sendPlain'>;
  /** The server's process, to measure the processor time of its process tree. */
  pid: number;
  count: number;
  atOnce: number;
  streamed: boolean;
  /** No reply is started after so many seconds. */
  seconds: number;
}

export interface Replies {
  replies: TimedReply[];
  /** From the first request to the last response. */
  seconds: number;
  processorMilliseconds: number;
  errors: string[];
}

/** As in a typical conversation of a user with an agent. */
const turnsPerChat = 5;

/** A workspace's chats are created one after the other, so more concurrent requests would only wait. */
const chatsAtOnce = 4;

/** After so many errors no more replies are started. */
const mostErrors = 20;

/**
 * Sends messages in `atOnce` chats concurrently: at most five in a chat, one after the other. The chats are created
 * before the measurement starts. Every reply's text is checked.
 */
export async function measureReplies(options: RepliesOptions): Promise<Replies> {
  const { client, pid, count, atOnce, streamed } = options;
  const chats = await createChats(client, Math.max(atOnce, Math.ceil(count / turnsPerChat)));
  const replies: TimedReply[] = [];
  const errors: string[] = [];
  const processor = await processorMilliseconds(pid);
  const start = performance.now();
  const until = start + options.seconds * 1000;
  let started = 0;
  await eachAtOnce(atOnce, chats, async (chatId) => {
    for (let turn = 1; turn <= turnsPerChat; turn += 1) {
      if (started === count || performance.now() > until || errors.length >= mostErrors) return;
      started += 1;
      const message = `Message ${turn} of chat ${chatId}`;
      try {
        const reply = await (streamed ? client.streamReply : client.sendPlain)(chatId, message);
        if (reply.text === replyTo(message)) replies.push(reply);
        else errors.push(`${message} got the reply ${JSON.stringify(reply.text)}`);
      } catch (error) {
        errors.push(`${message}: ${error}`);
      }
    }
  });
  const seconds = (performance.now() - start) / 1000;
  return { replies, seconds, processorMilliseconds: (await processorMilliseconds(pid)) - processor, errors };
}

/** Processor time of a process and its descendants since their start, in milliseconds. */
export const processorMilliseconds = async (pid: number): Promise<number> =>
  sumOf(await processTree(pid), ({ processorSeconds }) => processorSeconds * 1000);

export async function createChats(client: Pick<LoadClient, 'createChat'>, count: number): Promise<number[]> {
  const chats: number[] = [];
  await eachAtOnce(chatsAtOnce, Array.from({ length: count }), async () => {
    chats.push(await client.createChat());
  });
  return chats;
}
