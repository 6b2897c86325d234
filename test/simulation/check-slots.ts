import { keys } from '#adapters/dynamo/table/keys.ts';
import type { WireItem } from '#support/memory-table/attribute-values.ts';
import type { Process } from './process.ts';
import { clockDifference } from './timeline.ts';
import type { World } from './world.ts';

/** A worker stores a turn only if its slot is its own for 15 s. */
const longestStoring = 14_000;

/** A run of the reconciler each minute, a message that is late, and the calls of both. */
const longestSilence = clockDifference + 60_000 + 20_000 + 3000;

/** A worker learns its share at each beat, and the reconciler reads it before it makes slots. */
const longestUnknownShare = 8000;

/** Checks how the slots of batches are shared and found again, and that workers keep to them. */
export function watchSlots(world: World): void {
  const { table } = world;
  const shares = watchShares(world);
  const checkSilences = watchSilences(world);
  const checkOwners = watchOwners(world);
  const leases = watchLeases(world);
  const checkEnds = watchEnds(world);
  const { onWrite } = table;
  table.onWrite = (before, after) => {
    onWrite(before, after);
    const [pk, sk] = [after?.pk?.S ?? '', after?.sk?.S ?? ''];
    if (after === undefined) return;
    if (pk.endsWith('#BATCHES-N#open')) shares.change(pk, Number(after.n?.N));
    else if (sk === 'BATCH' && before !== undefined) {
      shares.check(before, after);
      checkSilences(before, after);
      checkOwners(before, after);
      leases.check(before, after);
      checkCancelled(world, before, after);
      if (isIdle(after) && !isIdle(before)) world.onIdle(pk);
      checkEnds(before, after);
    } else if (sk === 'CHAT') leases.change(before, after);
    else if (sk.startsWith('M#') && before === undefined) checkTurn(world, after);
  };
}

type Check = (before: WireItem, after: WireItem) => void;

const workspaceOf = (pk: string): string => pk.split('#')[1] ?? '';

type Slots = Readonly<Record<string, WireItem>>;

const slotsOf = ({ slots }: WireItem): Slots =>
  Object.fromEntries(Object.entries(slots?.M ?? {}).map(([number, slot]) => [number, slot.M ?? {}]));

/** The slots that each open batch of a workspace may have. */
function watchShares(world: World) {
  /** By workspace, with the time until which a worker may think that it has them. */
  const sharesOf = new Map<string, { share: number; until: number }[]>();

  return {
    change(pk: string, openBatches: number): void {
      const { now } = world.timeline;
      const workspace = workspaceOf(pk);
      const shares = sharesOf.get(workspace) ?? [];
      const last = shares.at(-1);
      if (last !== undefined) last.until = now + longestUnknownShare;
      const share = Math.max(Math.floor(world.outside.settings.slots / Math.max(openBatches, 1)), 1);
      shares.push({ share, until: Infinity });
      sharesOf.set(workspace, shares);
    },

    /** A slot above the share is neither made, nor takes new requests. */
    check(before: WireItem, after: WireItem): void {
      const { caller, checks, timeline } = world;
      const { now } = timeline;
      if (caller?.wasDisturbed(now - 180_000, now) !== false || isDelayed(world)) return;
      const shares = sharesOf.get(workspaceOf(after.pk?.S ?? '')) ?? [];
      const share = Math.max(...shares.filter(({ until }) => until >= now).map((each) => each.share));
      const [old, slots] = [slotsOf(before), slotsOf(after)];
      for (const [number, slot] of Object.entries(slots)) {
        const takesNew = slot.n?.N !== '0' && slot.n?.N !== old[number]?.n?.N && slot.s?.N !== '0';
        if (old[number] !== undefined && !takesNew) continue;
        checks.that(
          'slots are within the share',
          Number(number) <= share,
          () => `${after.pk?.S}: slot ${number} of ${share}`,
        );
      }
    },
  };
}

/** Slots whose workers or messages were lost. */
function watchSilences(world: World): Check {
  /** Since when they are silent. */
  const silentSince = new Map<string, number>();

  return (before, after) => {
    const { checks, disturbedUntil, timeline } = world;
    const [old, slots] = [slotsOf(before), slotsOf(after)];
    for (const [number, { e: epoch, t: until }] of Object.entries(old)) {
      const slot = slots[number];
      const key = `${after.pk?.S} ${number}`;
      const since = silentSince.get(key) ?? Number(until?.N);
      if (slot !== undefined && (slot.e?.N === epoch?.N || slot.w === undefined)) {
        const isRenewed = slot.t?.N !== until?.N;
        // Its owner is alive, or a message offers it again.
        if (isRenewed && slot.w !== undefined) silentSince.delete(key);
        else if (isRenewed && since < timeline.now) silentSince.set(key, since);
        continue;
      }
      silentSince.delete(key);
      const isCalm = since > disturbedUntil && before.stop_reason === undefined;
      if (slot === undefined || since + clockDifference > timeline.now || !isCalm) continue;
      checks.that(
        'a silent slot has a worker again',
        timeline.now - since <= longestSilence,
        () => `${key}: after ${Math.round((timeline.now - since) / 1000)} s`,
      );
    }
  };
}

/** The processes that own slots. */
function watchOwners(world: World): Check {
  const owners = new Map<string, Process | undefined>();

  return (before, after) => {
    const { caller, checks, timeline } = world;
    const slots = slotsOf(after);
    for (const [number, old] of Object.entries(slotsOf(before))) {
      const slot = slots[number];
      const key = `${after.pk?.S} ${number}`;
      if (slot !== undefined && slot.e?.N !== old.e?.N) {
        owners.set(key, caller);
        continue;
      }
      const isChanged = JSON.stringify(slot) !== JSON.stringify(old);
      // Others find it when it is silent, or end the batch, because it has taken nothing.
      if (
        !isChanged ||
        !isOpen(after) ||
        old.w === undefined ||
        Number(old.t?.N) < timeline.now + clockDifference
      )
        continue;
      checks.that(
        'only its owner changes a slot',
        caller === owners.get(key),
        () => `${key}: ${caller?.name} changes ${JSON.stringify(old)} to ${JSON.stringify(slot)}`,
      );
    }
  };
}

/** Whether the write was sent, or its process has thawed, long after it was decided on. */
export function isDelayed({ caller, timeline: { now } }: World): boolean {
  return now - (caller?.sentAt ?? 0) > 1000 || caller?.wasDisturbed(now - 1000, now) === true;
}

/**
 * The chats that requests own. A worker that freezes once it knows that its slot is its own, and then takes the lease of a
 * chat, has it as one that dies: only time ends it.
 */
function watchLeases(world: World) {
  /** The partition of the chat by the id of the lease. */
  const chats = new Map<string, string>();

  return {
    change(before: WireItem | undefined, after: WireItem): void {
      const [old, id] = [before?.lease_id?.S, after.lease_id?.S];
      if (old !== undefined && old !== id) chats.delete(old);
      const isTaken = before?.lease_until?.N !== after.lease_until?.N;
      if (id?.startsWith('batch:') === true && isTaken && !isDelayed(world)) chats.set(id, after.pk?.S ?? '');
    },

    check(before: WireItem, after: WireItem): void {
      if (isOpen(before) === isOpen(after)) return;
      const { checks, table } = world;
      const prefix = `batch:${after.id?.S}:`;
      const left = [...chats].filter(
        ([id, pk]) => id.startsWith(prefix) && table.find({ pk, sk: 'CHAT' })?.lease_id?.S === id,
      );
      checks.that('a final batch has released its chats', left.length === 0, () => left.join('; '));
    },
  };
}

const isOpen = ({ status }: WireItem): boolean => ['in_progress', 'cancelling'].includes(status?.S ?? '');

/** Whether all requests have been taken, and nobody works. */
const isIdle = ({ next, total, slots }: WireItem): boolean =>
  Number(next?.N) >= Number(total?.N) && Object.keys(slots?.M ?? {}).length === 0;

/** Whoever removes the last slot wakes the workflow. */
function watchEnds(world: World): Check {
  const idleSince = new Map<string, number>();

  return (before, after) => {
    const { checks, disturbedUntil, hasLostExecution, timeline } = world;
    const pk = after.pk?.S ?? '';
    if (isOpen(after)) {
      if (!isIdle(after)) idleSince.delete(pk);
      else if (!isIdle(before)) idleSince.set(pk, timeline.now);
      return;
    }
    const since = idleSince.get(pk);
    if (since === undefined || !isOpen(before) || hasLostExecution) return;
    // The workflow repeats a failed function for a minute.
    if (since < disturbedUntil + 65_000) return;
    checks.that(
      'a batch without work ends at once',
      timeline.now - since <= 2000,
      () => `${pk}: after ${Math.round((timeline.now - since) / 1000)} s`,
    );
  };
}

function checkCancelled({ checks }: World, before: WireItem, { pk, status }: WireItem): void {
  if (before.status?.S !== 'cancelling' || status?.S === 'cancelling') return;
  checks.that('a cancelled batch ends as such', status?.S === 'cancelled', () => `${pk?.S}: ${status?.S}`);
}

/** The chat of a request that has failed is free, and may have got another turn. */
function checkTurn(
  { caller, checks, delayedTurns, table, timeline }: World,
  { pk, sk, turn }: WireItem,
): void {
  const [, batchId, index] = turn?.S?.split(':') ?? [];
  if (batchId === undefined) return;
  const item = table.find(keys.batchItem(workspaceOf(pk?.S ?? ''), batchId, Number(index)));
  const runs = item?.status?.S === 'processing' || item?.status?.S === 'waiting';
  const isDelayed = timeline.now - (caller?.sentAt ?? 0) > longestStoring;
  if (!runs && isDelayed) delayedTurns.add(pk?.S ?? '');
  checks.that(
    'a request stores its turn only as long as it runs',
    runs || isDelayed,
    () => `${pk?.S} ${sk?.S}: ${turn?.S} is ${item?.status?.S}`,
  );
}
