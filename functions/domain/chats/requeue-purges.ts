import { requeueAfter } from './purge.ts';
import type { Services } from './services.ts';

const overdueAfter = 60 * 60_000;

const purgesPerRun = 1000;

/**
 * After it has enqueued the maximum, it stops at a page with a purge or an erasure that is not overdue.
 * @returns the number of overdue ones that it has read
 */
export async function requeuePurges(
  services: Services<'clock' | 'purgeOutbox' | 'purgeQueue'>,
): Promise<{ overdue: number }> {
  const { purgeOutbox, purgeQueue } = services;
  const now = services.clock.now().getTime();
  let overdue = 0;
  let sent = 0;
  for await (const page of purgeOutbox.pages(new Date(now - requeueAfter).toISOString())) {
    const overdueOfPage = page.filter(({ deletedAt }) => Date.parse(deletedAt) + overdueAfter <= now).length;
    overdue += overdueOfPage;
    const due = page.filter(({ dueAt }) => dueAt <= now).slice(0, purgesPerRun - sent);
    sent += due.length;
    await purgeQueue.send(due.map(({ dueAt, ...purge }) => purge));
    await Promise.all(due.map((purge) => purgeOutbox.postpone(purge, now + requeueAfter)));
    if (sent === purgesPerRun && overdueOfPage < page.length) break;
  }
  return { overdue };
}
