import { type AttributeValue, type DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { adaptWidth } from './adaptive-width.ts';
import type { Item } from './table.ts';

/**
 * Reads the key and the named attributes of every item of the table, in no order. Reads are strongly consistent, so a
 * scan that finds nothing proves that nothing was there when it started. DynamoDB bills whole items: one read unit for
 * 4 KB.
 * @param attributes document paths, such as `requests[0].name`
 * @param visit gets the pages, those of different segments concurrently. A segment goes on when its page was visited
 */
export type ScanKeys = (
  attributes: readonly string[],
  visit: (page: Item[]) => Promise<void>,
) => Promise<void>;

/** Parts of the table that are read concurrently. A page of 1 MB takes DynamoDB about 20 ms: some 200 MB a second at most. */
const segments = 8;

/** @param client of scans alone: it makes fewer reads at once if the table, the network or the machine is busy */
export function keyScanner(client: DynamoDBClient, TableName: string): ScanKeys {
  adaptWidth(client, segments);
  return async (attributes, visit) => {
    const projection = ['pk', 'sk', ...attributes].join(', ');
    const names = [...new Set(projection.match(/[A-Za-z_]+/g))];
    const scanSegment = async (Segment: number): Promise<void> => {
      let start: Record<string, AttributeValue> | undefined;
      do {
        const page = await client.send(
          new ScanCommand({
            TableName,
            ConsistentRead: true,
            TotalSegments: segments,
            Segment,
            // Some names of attributes are reserved words of DynamoDB.
            ProjectionExpression: projection.replaceAll(/[A-Za-z_]+/g, '#$&'),
            ExpressionAttributeNames: Object.fromEntries(names.map((name) => [`#${name}`, name])),
            ExclusiveStartKey: start,
          }),
        );
        await visit((page.Items ?? []).map((item) => unmarshall(item)));
        start = page.LastEvaluatedKey;
      } while (start !== undefined);
    };
    await Promise.all(Array.from({ length: segments }, (_, segment) => scanSegment(segment)));
  };
}
