import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import {
  DynamoDBDocumentClient,
  GetCommand,
  paginateScan,
  TransactWriteCommand,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb';
import { keys } from '#adapters/dynamo/table/keys.ts';
import { operatorCredentials } from '#local/iam/operator-credentials.ts';
import type { Service } from './service.ts';

/** The data table of a running service, reached past the service itself. */
export function dataTableOf(service: {
  run: { outputs: Record<string, string>; endpoints: Pick<Service['run']['endpoints'], 'dynamodb'> };
}) {
  const TableName = service.run.outputs.DataTableName ?? '';
  const client = DynamoDBDocumentClient.from(
    new DynamoDBClient({
      endpoint: service.run.endpoints.dynamodb,
      region: 'us-east-1',
      credentials: operatorCredentials,
    }),
  );
  return {
    /** Lets the time of a chat's lease pass at once. */
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
    async read(Key: { pk: string; sk: string }): Promise<Record<string, unknown> | undefined> {
      return (await client.send(new GetCommand({ TableName, Key, ConsistentRead: true }))).Item;
    },
    /** Sets attributes of an item that is there. */
    async change(Key: { pk: string; sk: string }, attributes: Record<string, unknown>): Promise<void> {
      const names = Object.keys(attributes);
      await client.send(
        new UpdateCommand({
          TableName,
          Key,
          UpdateExpression: `SET ${names.map((_, index) => `#${index} = :${index}`).join(', ')}`,
          ConditionExpression: 'attribute_exists(pk)',
          ExpressionAttributeNames: Object.fromEntries(names.map((name, index) => [`#${index}`, name])),
          ExpressionAttributeValues: Object.fromEntries(
            names.map((name, index) => [`:${index}`, attributes[name]]),
          ),
        }),
      );
    },
    /** Gives a published agent another model at once. */
    async setModel(agent: { workspaceId: string; agentId: string; model: string }): Promise<void> {
      await client.send(
        new UpdateCommand({
          TableName,
          Key: keys.publishedAgent(agent.workspaceId, agent.agentId),
          UpdateExpression: 'SET #definition.#model = :model',
          ExpressionAttributeNames: { '#definition': 'definition', '#model': 'llm_model' },
          ExpressionAttributeValues: { ':model': agent.model },
        }),
      );
    },
    /** Writes items as fast as the engine takes them: in transactions of 100, which cost it a third of other writes. */
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
    close: () => client.destroy(),
  };
}

/** Shared by its readers: each takes the next chunk. A chunk stays under the 4 MB that a transaction may have. */
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
