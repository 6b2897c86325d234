import { persistently } from './actors.ts';
import { readItems } from './items.ts';
import type { World } from './world.ts';

/** The name of the processes that delete unused chats. */
export const retentionName = 'retention';

/** A clock differs from the time by a second. */
const clockDifference = 1000;
const day = 86_400_000;

/** The shortest time after which a world deletes unused chats, in milliseconds. */
const shortestRetention = 15_000;

/** An operator, who in most worlds deletes the unused chats of a workspace, and now and then after another time. */
export async function retainChats(world: World): Promise<void> {
  const { timeline, ledger, operations } = world;
  if (timeline.chance(0.3)) return;
  const workspaceId = timeline.pick(world.workspaces);
  await timeline.sleep(timeline.between(15_000, 60_000));
  while (timeline.now < world.activeUntil) {
    const unused = timeline.between(shortestRetention, 45_000);
    world.note(`an operator retains chats of ${workspaceId} for ${Math.round(unused / 1000)} s`);
    await persistently(world, 'an operator sets a retention', async (process) => {
      const { now: start } = timeline;
      await operations.retain(process, workspaceId, unused / day);
      ledger.retentions.push({ workspaceId, start, unused });
    });
    await timeline.sleep(timeline.between(2000, 60_000));
  }
}

/** Checks each chat that a process deletes as unused, when it does so. Notes when each chat was last written. */
export function watchRetention(world: World): void {
  const { ledger, table, timeline, checks } = world;
  const { onWrite } = table;
  table.onWrite = (before, after) => {
    onWrite(before, after);
    const pk = after?.pk?.S;
    if (after?.sk?.S === 'CHAT' && pk !== undefined) ledger.chatsWrittenAt.set(pk, timeline.now);
    const isDeleted = before?.sk?.S === 'CHAT' && after === undefined;
    if (!isDeleted || world.caller?.name.startsWith(retentionName) !== true) return;
    const { updated_at: usedAt, lease_id: lease, lease_until: until } = before;
    const isUnused =
      Date.parse(usedAt?.S ?? '') < timeline.now - shortestRetention + 2 * clockDifference &&
      lease?.S?.startsWith('batch:') !== true &&
      (lease === undefined || Number(until?.N) <= timeline.now + clockDifference);
    checks.that(
      'a used chat is not deleted as unused',
      isUnused,
      () => `${before.pk?.S}: used at ${usedAt?.S}, ${lease?.S} until ${until?.N}`,
    );
  };
}

/** Nothing happens any more but the deletion of unused chats. */
export async function checkRetention(world: World): Promise<void> {
  const { ledger, timeline, checks, operations } = world;
  world.isQuiet = true;
  const last = ledger.retentions.at(-1);
  if (last === undefined) return;
  const run = () => operations.deleteUnused(world.newProcess('operator'));
  const left = () =>
    readItems(world.table)
      .like(/^W#([^#]+)#C#\d+$/, /^CHAT$/)
      .filter(
        ({ item, parts: [workspaceId] }) => workspaceId === last.workspaceId && !isOfBatch(item.lease_id),
      );
  const pks = (chats: ReturnType<typeof left>) => chats.map(({ item }) => item.pk).join(', ');
  // The pass that began with the last change may have been interrupted.
  await run();
  const items = readItems(world.table);
  // Chats without messages had no lease, unless a request of a batch has created them. A pass leaves a chat that is
  // written while it runs, such as by a send that takes a lease and is too late for its message.
  const unused = left().filter(
    ({ item }) =>
      item.created_for === undefined &&
      (ledger.chatsWrittenAt.get(item.pk as string) ?? Infinity) < last.start &&
      Date.parse(item.updated_at as string) < last.start - last.unused - 2 * clockDifference &&
      items.in(item.pk).length === 1,
  );
  checks.that('an unused chat goes within a day', unused.length === 0, () => pks(unused));
  await timeline.sleep(day);
  await run();
  checks.that('an unused chat goes within a day', left().length === 0, () => pks(left()));
}

const isOfBatch = (lease: unknown): boolean => typeof lease === 'string' && lease.startsWith('batch:');
