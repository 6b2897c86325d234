import { expect, it } from 'vitest';
import { measureReplies } from '../bench/measure-replies.ts';
import { replyTo } from '../bench/reply-text.ts';
import { median, percentile, percentiles } from '../bench/statistics.ts';

it('counts no reply that says something else, and tells of it', async () => {
  const timed = { firstByte: 1, firstDelta: 2, closed: 3 };
  let created = 0;
  const { replies, errors } = await measureReplies({
    client: {
      async createChat() {
        created += 1;
        return created;
      },
      async streamReply(chatId, message) {
        if (chatId === 3) throw new Error('refused');
        // The reply of another, concurrent chat.
        return { ...timed, text: replyTo(chatId === 2 ? message.replace('chat 2', 'chat 1') : message) };
      },
      sendPlain: () => Promise.reject(new Error('not asked for')),
    },
    pid: process.pid,
    count: 20,
    atOnce: 4,
    streamed: true,
    seconds: 10,
  });
  expect(created).toBe(4);
  expect(replies).toHaveLength(10);
  expect(errors.filter((error) => error.includes('got the reply'))).toHaveLength(5);
  expect(errors.filter((error) => error.includes('refused'))).toHaveLength(5);
});

it('finds percentiles between neighbours', () => {
  const values = Array.from({ length: 101 }, (_, index) => 100 - index);
  expect(percentile(values, 0.95)).toBe(95);
  expect(percentile([0, 10], 0.25)).toBe(2.5);
  expect(median([4, 1, 2, 10])).toBe(3);
  expect(percentiles(values)).toEqual({ p50: 50, p95: 95, p99: 99 });
});
