import { keys } from '#adapters/dynamo/table/keys.ts';
import type { Table } from '#adapters/dynamo/table/table.ts';
import type { PlaceReport, PlaceReports } from '#domain/platform/shares.ts';

/** Seconds after which TTL deletes a report. It counts for a shorter time. */
const retention = 600;

export const dynamoPlaceReports = (table: Table): PlaceReports => ({
  put: ({ process, at, places }) =>
    table.put({
      Item: { ...keys.placeReport(process), at, places, ttl: Math.ceil(at / 1000) + retention },
    }),

  async all() {
    const { pk } = keys.placeReport('');
    const pages = table.queryPages({
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': pk },
    });
    return (await Array.fromAsync(pages))
      .flat()
      .map(({ sk, at, places }) => ({ process: sk, at, places }) as PlaceReport);
  },
});
