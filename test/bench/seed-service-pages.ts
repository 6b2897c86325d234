import { BatchWriteItemCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { marshall } from '@aws-sdk/util-dynamodb';
import { chatItem } from '#adapters/dynamo/chats/chat-item.ts';
import { keys } from '#adapters/dynamo/table/keys.ts';
import { messageItems } from '#support/seed.ts';
import { type Connection, credentialsOf } from '../../bin/local/connection.ts';
import { pageOffsets } from './figures.ts';
import { externalUserId } from './load-client.ts';
import { pageLength, pagesToSeed, type SeededPages } from './seeded-pages.ts';

type Item = Record<string, unknown>;

/** DynamoDB's limit for one BatchWriteItem. */
const itemsPerRequest = 25;

/** Writes counters and items through the run's own endpoint, as the service would have stored them. */
export async function seedServicePages(connection: Connection, agentId: string): Promise<SeededPages> {
  const { workspace_id, data_table, dynamodb_endpoint } = connection;
  const client = new DynamoDBClient({
    endpoint: dynamodb_endpoint,
    region: 'us-east-1',
    credentials: credentialsOf(connection),
  });
  const items = itemsOf(workspace_id, agentId);
  for (let first = 0; first < items.length; first += itemsPerRequest) {
    const writes = items
      .slice(first, first + itemsPerRequest)
      .map((item) => ({ PutRequest: { Item: marshall(item, { removeUndefinedValues: true }) } }));
    const { UnprocessedItems } = await client.send(
      new BatchWriteItemCommand({ RequestItems: { [data_table]: writes } }),
    );
    if (Object.keys(UnprocessedItems ?? {}).length > 0)
      throw new Error('The table did not accept all seeded items');
  }
  client.destroy();
  return { total: pagesToSeed.total, chatId: pagesToSeed.chatId };
}

function itemsOf(workspaceId: string, agentId: string): Item[] {
  const { total, chatId, chatIds } = pagesToSeed;
  const at = new Date().toISOString();
  const chats = chatIds.map((id) =>
    chatItem({
      id,
      workspaceId,
      agentId,
      name: 'Seeded',
      externalUserId,
      createdAt: at,
      updatedAt: at,
      messageCount: id === chatId ? total : 0,
      lease: null,
    }),
  );
  const messages = pageOffsets.flatMap((offset) => [
    ...messageItems({
      workspaceId,
      chatId,
      first: offset + 1,
      count: pageLength,
      content: (position) => `Message ${position}`,
    }),
  ]);
  return [{ ...keys.chatCount(workspaceId), count: total, newest_created_at: at }, ...chats, ...messages];
}
