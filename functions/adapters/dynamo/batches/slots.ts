import { keys } from '#adapters/dynamo/table/keys.ts';
import type { Item, Table } from '#adapters/dynamo/table/table.ts';
import type { BatchStatus } from '#contract/batch-statuses.ts';
import type { Batch } from '#domain/batches/batch.ts';
import type { BatchKey, BatchTransitions } from '#domain/batches/batch-store.ts';
import { epochsPerSlot } from '#domain/batches/slots.ts';
import { batchOf, newSlot } from './items.ts';

type SlotTransitions = Pick<
  BatchTransitions,
  'topUp' | 'acquire' | 'take' | 'renew' | 'pass' | 'retire' | 'stop'
>;

interface BatchUpdate {
  set?: readonly string[];
  remove?: readonly string[];
  condition: string;
  names?: Record<string, string>;
  values: Item;
  returns?: 'ALL_OLD' | 'ALL_NEW';
  /**
   * Gets the stored item after the condition has failed. Returns whether it is as after this write: the SDK repeats a
   * write whose response was lost.
   */
  isDone?: (item: Item) => boolean;
}

/**
 * @returns the item as `returns` says; if the condition failed, the stored one if `isDone` returns true, else undefined
 */
async function updateBatch(
  table: Table,
  { workspaceId, id }: BatchKey,
  { set = [], remove = [], condition, names, values, returns = 'ALL_NEW', isDone }: BatchUpdate,
): Promise<Item | undefined> {
  const updated = await table.updateIf({
    Key: keys.batch(workspaceId, id),
    UpdateExpression: [
      ...(set.length > 0 ? [`SET ${set.join(', ')}`] : []),
      ...(remove.length > 0 ? [`REMOVE ${remove.join(', ')}`] : []),
    ].join(' '),
    ConditionExpression: condition,
    ...(names !== undefined && { ExpressionAttributeNames: names }),
    ExpressionAttributeValues: values,
    ReturnValues: returns,
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  });
  const { item } = updated;
  return updated.isDone || (item !== undefined && isDone?.(item)) ? item : undefined;
}

const slotIn = (item: Item, number: number): Item | undefined =>
  (item.slots as Record<string, Item> | undefined)?.[number];

export const batchAfter = async (...change: Parameters<typeof updateBatch>): Promise<Batch | undefined> => {
  const item = await updateBatch(...change);
  return item && batchOf(item);
};

const ofOwner = (number: number) => ({ condition: 'slots.#k.e = :e', names: { '#k': String(number) } });

/** All slots of a batch are in its item, so that these changes need no transaction, which may conflict. */
export const slotTransitions = (table: Table): SlotTransitions => ({
  topUp(batch, slots, until) {
    const change = topUp(batch, slots, until);
    const { ':after': made } = change.values;
    const hasTime = (item: Item, number: number): boolean => slotIn(item, number)?.t === until;
    return batchAfter(table, batch, {
      ...change,
      isDone: (item) => item.made === made && slots.every((number) => hasTime(item, number)),
    });
  },
  ...changes(table),
  renew: (batch, { number, epoch }, until) =>
    batchAfter(table, batch, {
      ...ofOwner(number),
      set: ['slots.#k.t = :t'],
      values: { ':e': epoch, ':t': until },
    }),
  pass: (batch, { number, epoch }, { until, isClean }) =>
    batchAfter(table, batch, {
      ...ofOwner(number),
      set: ['slots.#k.t = :t', 'slots.#k.x = :x'],
      remove: ['slots.#k.w'],
      values: { ':e': epoch, ':t': until, ':x': isClean },
    }),
  retire: (batch, { number, epoch, until }) =>
    batchAfter(table, batch, {
      names: { '#k': String(number) },
      condition: `slots.#k.e = :e${until === undefined ? '' : ' AND slots.#k.t = :t'}`,
      remove: ['slots.#k'],
      values: { ':e': epoch, ...(until !== undefined && { ':t': until }) },
      isDone: (item) => slotIn(item, number) === undefined,
    }),
});

const changes = (table: Table) =>
  ({
    async acquire(batch, { number, epoch }, { name, until }) {
      const item = await updateBatch(table, batch, {
        set: [
          ...['slots.#k.e = :next', 'slots.#k.w = :w', 'slots.#k.n = :zero', 'slots.#k.x = :x'],
          'slots.#k.t = :t',
        ],
        // Fails for a final batch too, because it has no slots.
        ...{ condition: 'slots.#k.e = :e', names: { '#k': String(number) } },
        values: { ':e': epoch, ':next': epoch + 1, ':w': name, ':zero': 0, ':x': false, ':t': until },
        returns: 'ALL_OLD',
        // If this write was made before, the former slot is unknown and counts as not clean.
        isDone: (stored) => slotIn(stored, number)?.w === name,
      });
      if (item === undefined) return undefined;
      const read = batchOf(item);
      const before = read.slots[number];
      if (before === undefined) throw new Error(`The batch ${batch.id} has no slot ${number}`);
      const owned = { ...before, epoch: epoch + 1, owner: name, takes: 0, isClean: false, until };
      return {
        batch: { ...read, slots: { ...read.slots, [number]: owned } },
        slot: { number, epoch: epoch + 1 },
        wasClean: before.isClean,
      };
    },

    take(batch, { number, epoch, takes }, { size, named }) {
      const { condition, names } = ofOwner(number);
      return batchAfter(table, batch, {
        // In an update, every right side reads the value from before the update.
        set: [
          ...['slots.#k.b = #next', 'slots.#k.s = :size', 'slots.#k.r = :named', 'slots.#k.n = :taken'],
          '#next = #next + :size',
        ],
        condition: `${condition} AND slots.#k.n = :takes AND attribute_not_exists(stop_reason)`,
        names: { ...names, '#next': 'next' },
        values: { ':e': epoch, ':size': size, ':named': named, ':takes': takes, ':taken': takes + 1 },
        isDone(item) {
          const slot = slotIn(item, number);
          return slot?.e === epoch && slot.n === takes + 1;
        },
      });
    },

    stop(batch, { reason, at }) {
      const isCancel = reason === 'cancelled';
      const status: BatchStatus = isCancel ? 'cancelling' : 'in_progress';
      return batchAfter(table, batch, {
        set: [
          ...['#status = :status', 'stop_reason = if_not_exists(stop_reason, :reason)'],
          'stopped_at = if_not_exists(stopped_at, :at)',
        ],
        condition: isCancel ? '#status = :open' : '#status = :open AND attribute_not_exists(stop_reason)',
        names: { '#status': 'status' },
        values: { ':status': status, ':reason': reason, ':at': at, ':open': 'in_progress' },
        isDone: (item) => item.status === status && item.stop_reason === reason && item.stopped_at === at,
      });
    },
  }) satisfies Partial<SlotTransitions>;

/**
 * Also takes silent slots from their owners: an owner that was only frozen must not renew its slot while a message
 * offers it to another worker.
 */
function topUp(batch: Batch, slots: readonly number[], until: number) {
  const missing = slots.filter((number) => batch.slots[number] === undefined);
  const silent = slots.filter((number) => batch.slots[number] !== undefined);
  const owned = silent.filter((number) => batch.slots[number]?.owner !== null);
  const made = batch.slotsMade + missing.length;
  return {
    set: [
      'made = :after',
      ...silent.map((number) => `slots.#k${number}.t = :t`),
      ...owned.map((number) => `slots.#k${number}.e = slots.#k${number}.e + :one`),
      ...missing.map((number) => `slots.#k${number} = :s${number}`),
    ],
    remove: owned.map((number) => `slots.#k${number}.w`),
    condition: [
      // A final batch has no slots.
      ...['made = :before', 'attribute_exists(slots)'],
      ...silent.map((number) => `slots.#k${number}.t = :t${number}`),
    ].join(' AND '),
    names: Object.fromEntries(slots.map((number) => [`#k${number}`, String(number)])),
    values: {
      ...{ ':before': batch.slotsMade, ':after': made },
      ...(silent.length > 0 && { ':t': until }),
      ...(owned.length > 0 && { ':one': 1 }),
      ...Object.fromEntries(silent.map((number) => [`:t${number}`, batch.slots[number]?.until])),
      ...Object.fromEntries(
        missing.map((number, index) => [
          `:s${number}`,
          newSlot((batch.slotsMade + index) * epochsPerSlot, until),
        ]),
      ),
    },
  };
}
