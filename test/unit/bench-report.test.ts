import { expect, it } from 'vitest';
import { measureReplies } from '../bench/measure-replies.ts';
import { replyTo } from '../bench/reply-text.ts';
import { type RunReport, reportTable } from '../bench/report-table.ts';
import { median, percentile, percentiles } from '../bench/statistics.ts';

const runOf = (run: number, subject: RunReport['subject'], figures: RunReport['figures']): RunReport => ({
  ...{ run, subject, figures, errors: [] },
});

const cellsOf = (table: string): string[][] =>
  table.split('\n').map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );

it('compares each run of the service with the bare one of the same run', () => {
  // In the second run both are twice as slow. The ratios are 10, 10 and 4, independently of the medians.
  const table = reportTable([
    runOf(1, 'bare', { 'first delta, ms': 1 }),
    runOf(1, 'service', { 'first delta, ms': 10 }),
    runOf(2, 'service', { 'first delta, ms': 20 }),
    runOf(2, 'bare', { 'first delta, ms': 2 }),
    runOf(3, 'bare', { 'first delta, ms': 1.2345 }),
    runOf(3, 'service', { 'first delta, ms': 4.938 }),
  ]);
  expect(cellsOf(table)).toEqual([
    ['median (least to greatest)', 'bare, runs: 3', 'service, runs: 3', 'service / bare'],
    expect.anything(),
    ['first delta, ms', '1.23 (1 to 2)', '10 (4.94 to 20)', '10 (4 to 10)'],
  ]);
});

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
