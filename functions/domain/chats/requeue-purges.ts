import { requeueAfter } from './purge.ts';
import type { Services } from './services.ts';

/** A purge is overdue if it has not ended this many milliseconds after the deletion of its chat. */
const overdueAfter = 60 * 60_000;

/** Maximum of purges that a run enqueues; the next run enqueues the rest. This many messages take about a second. */
const purgesPerRun = 1000;

/**
 * Enqueues the purges and erasures that are due: the second run of each, and those whose message was lost or whose
 * function failed. It does not read purges that are too young to be due. It reads all others, unless it has enqueued
 * the maximum: then it stops after the first page with a purge that is not overdue. So 20,000 chats that are deleted at
 * once cost 780 read units a minute from the 5th to the 20th minute: 0.6 for each deletion in all.
 * @returns the number of overdue purges
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
