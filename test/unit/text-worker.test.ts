import { afterEach, expect, it, vi } from 'vitest';
import { OutboundFailure } from '#domain/platform/failures.ts';
import { sampleTextWorker } from '#support/sample-text-worker.ts';

const rank = (text: string, query: string) => ({
  type: 'rank' as const,
  texts: [{ text: 'Nothing here' }, { text, pageOffsets: [0, 4] }],
  query,
  limit: 5,
});

afterEach(() => vi.useRealTimers());

it('lets workspaces take turns', async () => {
  const worker = sampleTextWorker();
  const ended: string[] = [];
  const run = async (workspaceId: string, name: string) => {
    await worker.run(workspaceId, rank('text', 'text'));
    ended.push(name);
  };
  await Promise.all([
    ...['busy 1', 'busy 2', 'busy 3', 'busy 4'].map((name) => run('busy', name)),
    ...['quiet 1', 'quiet 2'].map((name) => run('quiet', name)),
    run('other', 'other 1'),
  ]);
  expect(ended).toEqual(['busy 1', 'busy 2', 'quiet 1', 'other 1', 'busy 3', 'quiet 2', 'busy 4']);
});

it('ends a work that takes too long, and does the next one', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const worker = sampleTextWorker();
  const slow = worker.run('workspace', rank('a b '.repeat(1_000_000), 'a b'));
  const next = worker.run('workspace', rank('text', 'text'));
  vi.advanceTimersByTime(30_000);
  await expect(slow).rejects.toThrow('The work "rank" took too long');
  expect(await next).toHaveLength(1);
});

it('ends a work that takes too much memory, and does the next one', async () => {
  const worker = sampleTextWorker(40);
  const text = Array.from({ length: 300_000 }, (_each, index) => `word${index}`).join(' ');
  const large = worker.run('workspace', rank(text, 'word'));
  const next = worker.run('workspace', rank('text', 'text'));
  await expect(large).rejects.toMatchObject({ code: 'ERR_WORKER_OUT_OF_MEMORY' });
  expect(await next).toHaveLength(1);
});

it('does no work of a request that has ended while it waited', async () => {
  const worker = sampleTextWorker();
  const request = new AbortController();
  const first = worker.run('workspace', rank('text', 'text'));
  const second = worker.run('workspace', rank('text', 'text'), request.signal);
  request.abort(new Error('It has ended'));
  await expect(second).rejects.toThrow('It has ended');
  expect(await first).toHaveLength(1);
});

it('returns failures with their kind', async () => {
  const page = { type: 'read page' as const, header: 'image/png', body: Buffer.from('x') };
  const failure = sampleTextWorker().run('workspace', { ...page, address: 'https://site.test' });
  await expect(failure).rejects.toThrow(OutboundFailure);
  await expect(failure).rejects.toMatchObject({ kind: 'unreadable' });
});
