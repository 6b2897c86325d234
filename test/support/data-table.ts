import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import {
  DeleteCommand,
  DynamoDBDocumentClient,
  GetCommand,
  paginateScan,
  TransactWriteCommand,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb';
import { keys } from '#adapters/dynamo/table/keys.ts';
import { operatorCredentials } from '#local/iam/operator-credentials.ts';
import type { Service } from './service.ts';

/** Settings of a client that calls an emulator of a run as the operator. */
export const operatorAt = (endpoint: string) => ({
  ...{ endpoint, region: 'us-east-1', credentials: operatorCredentials },
});

/** Direct access to the data table of a running service. */
export function dataTableOf(service: {
  run: { outputs: Record<string, string>; endpoints: Pick<Service['run']['endpoints'], 'dynamodb'> };
}) {
  const TableName = service.run.outputs.DataTableName ?? '';
  const client = DynamoDBDocumentClient.from(new DynamoDBClient(operatorAt(service.run.endpoints.dynamodb)));
  return {
    /** Makes a chat's lease expire now. */
    async endLease({ workspaceId, chatId }: { workspaceId: string; chatId: number }): Promise<void> {
      await client.send(
        new UpdateCommand({
          TableName,
          Key: keys.chat(workspaceId, chatId),
          UpdateExpression: 'SET lease_until = :past',
          ConditionExpression: 'attribute_exists(lease_id)',
          ExpressionAttributeValues: { ':past': Date.now() - 1 },
        }),
      );
    },
    /** Every item. */
    async readAll(): Promise<Record<string, unknown>[]> {
      const pages = await Array.fromAsync(paginateScan({ client }, { TableName }));
      return pages.flatMap(({ Items }) => Items ?? []);
    },
    /** The sort keys of what is stored for a chat. */
    async storedFor({ workspaceId }: { workspaceId: string }, chatId: number): Promise<string[]> {
      const { pk } = keys.chat(workspaceId, chatId);
      const items = await this.readAll();
      return items
        .filter((item) => item.pk === pk || String(item.pk).startsWith(`${pk}#`))
        .map(({ sk }) => String(sk));
    },
    async read(Key: { pk: string; sk: string }): Promise<Record<string, unknown> | undefined> {
      return (await client.send(new GetCommand({ TableName, Key, ConsistentRead: true }))).Item;
    },
    /** Sets attributes of an existing item, by their names or by paths such as `slots.1.t`. */
    async change(Key: { pk: string; sk: string }, attributes: Record<string, unknown>): Promise<void> {
      const paths = Object.keys(attributes).map((path) => path.split('.'));
      const nameOf = (index: number) => (_: string, part: number) => `#${index}_${part}`;
      const sets = paths.map((path, index) => `${path.map(nameOf(index)).join('.')} = :${index}`);
      const names = paths.flatMap((path, index) =>
        path.map((name, part) => [nameOf(index)(name, part), name]),
      );
      await client.send(
        new UpdateCommand({
          TableName,
          Key,
          UpdateExpression: `SET ${sets.join(', ')}`,
          ConditionExpression: 'attribute_exists(pk)',
          ExpressionAttributeNames: Object.fromEntries(names),
          ExpressionAttributeValues: Object.fromEntries(
            Object.values(attributes).map((value, index) => [`:${index}`, value]),
          ),
        }),
      );
    },
    /**
     * Writes many items quickly: the emulator needs a third of the time for transactions of 100 than for other writes.
     */
    async writeItems(items: Iterable<Record<string, unknown>>): Promise<void> {
      const chunks = chunksOf(items, 100);
      const write = async (): Promise<void> => {
        for (const chunk of chunks)
          await client.send(
            new TransactWriteCommand({ TransactItems: chunk.map((Item) => ({ Put: { TableName, Item } })) }),
          );
      };
      await Promise.all([write(), write(), write()]);
    },
    async removeItems(removed: readonly { pk: string; sk: string }[]): Promise<void> {
      for (const Key of removed) await client.send(new DeleteCommand({ TableName, Key }));
    },
    close: () => client.destroy(),
  };
}

/**
 * The concurrent writers share this generator: each takes the next chunk. A transaction may have 4 MB, so a chunk has
 * less.
 */
function* chunksOf(
  items: Iterable<Record<string, unknown>>,
  size: number,
): Generator<Record<string, unknown>[]> {
  let chunk: Record<string, unknown>[] = [];
  let bytes = 0;
  for (const item of items) {
    const itemBytes = typeof item.content === 'string' ? Buffer.byteLength(item.content) : 0;
    if (chunk.length === size || (chunk.length > 0 && bytes + itemBytes > 3_000_000)) {
      yield chunk;
      chunk = [];
      bytes = 0;
    }
    chunk.push(item);
    bytes += itemBytes;
  }
  if (chunk.length > 0) yield chunk;
}
