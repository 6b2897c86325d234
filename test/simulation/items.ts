/** How stored items are read, and what must hold of them. */
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { keys } from '#adapters/dynamo/table/keys.ts';
import { epochsPerSlot } from '#domain/batches/slots.ts';
import type { WireItem } from '#support/memory-table/attribute-values.ts';
import type { MemoryTable } from '#support/memory-table/memory-table.ts';
import { recountListsOfBatches } from '#support/stored/recount-batches.ts';
import { recountListsOfChats } from '#support/stored/recount-chats.ts';
import type { StoredItem } from '#support/stored/snapshot.ts';
import { StoredItems } from '#support/stored/stored-items.ts';
import type { Checks } from './checks.ts';
import type { Timeline } from './timeline.ts';

const finals = new Set(['success', 'failed']);
const finalBatches = new Set(['completed', 'failed', 'cancelled']);

/**
 * Checks each change of an item when it happens.
 * @param isDelayed whether the write has been under way for so long that its worker may have lost its slot meanwhile
 */
export function watchItems(
  table: MemoryTable,
  timeline: Timeline,
  checks: Checks,
  isDelayed: () => boolean,
): void {
  table.onWrite = (before, after) => {
    const { pk, sk } = (after ?? before) as { pk: { S: string }; sk: { S: string } };
    if (sk.S === 'CHAT') checkLease(timeline, checks, before, after);
    else if (/^M#\d+$/.test(sk.S)) checkMessage(checks, before, after);
    else if (sk.S === 'TOKEN') checkToken(checks, before, after);
    else if (sk.S === 'BATCH' && after !== undefined) checkBatch(checks, before, after);
    else if (/^W#[^#]+#[A-Z]+-N(?:#|$)/.test(pk.S)) checkCount(checks, after);
    else if (/#B#[^#]+#I#\d$/.test(pk.S) && after !== undefined)
      checkItem(table, checks, isDelayed(), before, after);
  };
}

function checkLease(timeline: Timeline, checks: Checks, before?: WireItem, after?: WireItem): void {
  const [owner, next] = [before?.lease_id?.S, after?.lease_id?.S];
  if (owner === undefined || next === undefined || owner === next) return;
  // The clock of the next owner may be a second ahead.
  const until = Number(before?.lease_until?.N) - 1000;
  checks.that(
    'a lease owns its chat alone',
    timeline.now >= until,
    () => `${after?.pk?.S}: ${next} took the lease of ${owner}, ${until - timeline.now} ms before its end`,
  );
}

function checkCount(checks: Checks, { pk, sk, ...counts }: WireItem = {}): void {
  checks.that(
    'a count is never negative',
    Object.values(counts).every(({ N }) => Number(N) >= 0),
    () => `${pk?.S} ${sk?.S}: ${JSON.stringify(counts)}`,
  );
}

function checkMessage(checks: Checks, before?: WireItem, after?: WireItem): void {
  if (after === undefined) return;
  checks.that(
    'a message never changes',
    before === undefined || JSON.stringify(before) === JSON.stringify(after),
    () => `${after.pk?.S} ${after.sk?.S}`,
  );
}

function checkToken(checks: Checks, before?: WireItem, after?: WireItem): void {
  const [token, next] = [before?.token?.S, after?.token?.S];
  if (token !== undefined && next !== undefined && token !== next)
    checks.that(
      'a task token is never replaced by an older one',
      token < next,
      () => `${after?.pk?.S}: ${token} by ${next}`,
    );
}

function checkBatch(checks: Checks, before: WireItem | undefined, after: WireItem): void {
  if (before !== undefined) {
    checkEpochs(checks, before, after);
    const [next, grown] = [Number(before.next?.N), Number(after.next?.N)];
    checks.that(
      'the next request never falls',
      grown >= next,
      () => `${after.pk?.S}: ${next}, then ${grown}`,
    );
    const wasStopped = before.stop_reason !== undefined;
    const takesOf = ({ slots }: WireItem) =>
      // A slot that is made after the stop is removed by its first owner.
      Object.entries(slots?.M ?? {}).flatMap(([number, slot]) =>
        Object.keys(slot.M?.r?.M ?? {}).length === 0 ? [] : [`${number}: ${JSON.stringify(slot.M?.r)}`],
      );
    const started = new Set(takesOf(before));
    checks.that(
      'nothing starts after a stop',
      !wasStopped || (next === grown && takesOf(after).every((take) => started.has(take))),
      () =>
        `${after.pk?.S}, stopped: ${next}, then ${grown}; ${[...started].join()}, then ${takesOf(after).join()}`,
    );
  }
  const [status, changed] = [before?.status?.S ?? '', after.status?.S];
  if (finalBatches.has(status))
    checks.that(
      'a result never changes',
      status === changed,
      () => `${after.pk?.S}: ${status}, then ${changed}`,
    );
}

/** Items name their workers by epochs. A new slot starts above all those that were given before. */
function checkEpochs(checks: Checks, before: WireItem, after: WireItem): void {
  for (const [number, slot] of Object.entries(after.slots?.M ?? {})) {
    const old = before.slots?.M?.[number];
    const epoch = Number(slot.M?.e?.N);
    const isRenewed = old?.M?.e?.N !== undefined && [0, 1].includes(epoch - Number(old.M.e.N));
    checks.that(
      'an epoch has one owner',
      old === undefined ? epoch >= Number(before.made?.N ?? 0) * epochsPerSlot : isRenewed,
      () => `${after.pk?.S}, slot ${number}: ${JSON.stringify(old)}, then ${JSON.stringify(slot)}`,
    );
  }
}

function checkItem(
  table: MemoryTable,
  checks: Checks,
  isDelayed: boolean,
  before: WireItem | undefined,
  after: WireItem,
): void {
  const [status = '', next] = [before?.status?.S, after.status?.S];
  const name = () => `${after.pk?.S} ${after.sk?.S}`;
  if (finals.has(status))
    checks.that('a result never changes', status === next, () => `${name()}: ${status}, then ${next}`);
  if (before !== undefined) {
    const [epoch, newer] = [Number(before.e?.N), Number(after.e?.N)];
    checks.that(
      'only the newest owner of a slot changes its requests',
      newer >= epoch && (before.k?.N === after.k?.N || epoch === 0),
      () => `${name()}: ${before.k?.N} ${epoch}, then ${after.k?.N} ${newer}`,
    );
  }
  if (next !== 'processing' || before?.attempt?.N === after.attempt?.N) return;
  // A worker that was lost had started the request before.
  if (status === 'processing') return;
  const batch = table.find({ pk: (after.pk?.S ?? '').replace(/#I#\d$/, ''), sk: 'BATCH' });
  const slot = batch?.slots?.M?.[after.k?.N ?? '']?.M;
  const index = Number(after.sk?.S);
  const first = Number(slot?.b?.N);
  const isOfTake = index >= first && index < first + Number(slot?.s?.N);
  const isNamed = Number(slot?.r?.M?.[String(index)]?.N ?? 0) >= Number(after.attempt?.N);
  checks.that('a request is in the take of its slot', isOfTake || isNamed || isDelayed, name);
}

/** Everything that is stored, once nothing happens any more. */
export function readItems(table: MemoryTable): StoredItems {
  const items = [...table.items()].map((item) => unmarshall(item as never) as StoredItem);
  return new StoredItems({ items });
}

export type StoredChat = ReturnType<typeof chatsIn>[number];

export function chatsIn(items: StoredItems) {
  return items.like(/^W#([^#]+)#C#(\d+)$/, /^CHAT$/).map(({ item, parts: [workspaceId = ''] }) => ({
    ...{ workspaceId, chatId: item.id as number, name: item.name as string },
    ...{ createdAt: item.created_at as string, agentId: item.agent_id as string },
    externalUserId: item.external_user_id as string | undefined,
    /** Under a lease, which has expired. */
    isLeased: item.lease_id !== undefined,
    messageCount: item.message_count as number,
    createdFor: item.created_for as string | undefined,
    messages: items
      .in(item.pk)
      .filter(({ sk }) => /^M#\d+$/.test(sk))
      .map(({ position, content }) => ({ position: position as number, content: content as string }))
      .sort((one, other) => one.position - other.position),
  }));
}

/** Contradictions between chats and batches, their lists and their counts. */
export function listProblems(items: StoredItems): { wrong: string[]; interleaved: string[] } {
  const problems = [...recountListsOfChats(items), ...recountListsOfBatches(items)];
  const isInterleaved = (problem: string): boolean => problem.includes('interleave');
  return {
    wrong: problems.filter((problem) => !isInterleaved(problem)),
    interleaved: problems.filter(isInterleaved),
  };
}

/** What is left of deleted chats, once their purges have ended. */
export const leftOfDeleted = (items: StoredItems): string[] =>
  items
    .like(/^(W#[^#]+#C#\d+)(?:$|#)/, /./)
    .filter(({ parts: [pk = ''] }) => !items.has({ pk, sk: 'CHAT' }))
    .map(({ item: { pk, sk } }) => `${pk} ${sk}`);

/** Whether purges or deliveries of webhooks are under way. */
export const hasPurgesOrWebhooks = (table: MemoryTable): boolean =>
  table.hasPartition('OPERATOR#PURGES') || table.hasPartition('OPERATOR#WEBHOOKS');

export type StoredBatch = ReturnType<typeof batchesIn>[number];

export function batchesIn(items: StoredItems) {
  return items
    .like(/^W#([^#]+)#B#([^#]+)$/, /^BATCH$/)
    .map(({ item, parts: [workspaceId = '', batchId = ''] }) => {
      const partitions = Array.from({ length: 10 }, (_, index) => items.in(`${item.pk}#I#${index}`));
      return {
        ...{ workspaceId, batchId, status: item.status as string },
        isFinal: finalBatches.has(item.status as string),
        hasExpired: item.stop_reason === 'expired',
        isListedAsOpen:
          items.has(keys.batchList(workspaceId, 'open').entry(item.number as number)) ||
          items.has(keys.operatorsOpenBatch(batchId)),
        ...{
          completed: item.completed as number,
          failed: item.failed as number,
          total: item.total as number,
        },
        succeededItems: partitions.flat().filter(({ status }) => status === 'success').length,
        wantsWebhook: item.events !== undefined,
        deliveryState: items.at(keys.webhookDelivery(workspaceId, batchId))?.state as string | undefined,
      };
    });
}

/** The number of the workspace's open batches, as it is stored. */
export const openBatchesOf = (items: StoredItems, workspaceId: string): number =>
  (items.at(keys.openBatches(workspaceId))?.n as number | undefined) ?? 0;
