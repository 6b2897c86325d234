import { keys } from '#adapters/dynamo/table/keys.ts';
import { allOf, type Table } from '#adapters/dynamo/table/table.ts';
import type { SlotReport, SlotReports } from '#domain/platform/shares.ts';

/** Seconds after which TTL deletes a report. It counts for a shorter time. */
const retention = 600;

export const dynamoSlotReports = (table: Table): SlotReports => ({
  put: ({ process, at, slots }) =>
    table.put({ Item: { ...keys.slotReport(process), at, slots, ttl: Math.ceil(at / 1000) + retention } }),

  async all() {
    const items = await table.queryAll(allOf(keys.slotReport('')));
    return items.map(({ sk, at, slots }) => ({ process: sk, at, slots }) as SlotReport);
  },
});
