import { dynamoKnowledgeTable } from '#adapters/dynamo/knowledge/knowledge-table.ts';
import type { Table } from '#adapters/dynamo/table/table.ts';
import { auditBy } from '#adapters/dynamo/workspaces/api-key-store.ts';
import { dynamoUsageStore } from '#adapters/dynamo/workspaces/usage-store.ts';
import type { ContentStore } from '#domain/chats/message.ts';
import type { Clock } from '#domain/platform/services.ts';
import { dynamoStores } from '../dynamo-stores.ts';
import { memoryContentStore } from '../memory-objects.ts';
import { start } from './entities.ts';

const clock: Clock = {
  now: () => new Date(start),
  after: () => () => undefined,
  every: () => () => undefined,
};

/** Stores texts that are too large for their items, under names that are the same in every run. */
const contentsOf = (texts: Map<string, string>): ContentStore => ({
  ...memoryContentStore(texts),
  async put({ workspaceId }, content) {
    const name = `contents/${workspaceId}/${texts.size + 1}`;
    texts.set(name, content);
    return name;
  },
});

/**
 * The stores that write items, on one table, with a clock that does not move.
 * @param texts what is stored outside the table
 */
export function storesOn(table: Table, texts = new Map<string, string>()) {
  const settings = { clock, actor: () => 'frozen operator', contents: contentsOf(texts) };
  return {
    ...dynamoStores(table, settings),
    table,
    knowledge: dynamoKnowledgeTable(table, auditBy(clock, settings.actor)),
    usage: dynamoUsageStore(
      table,
      () => 400,
      () => 'process_1',
    ),
  };
}

export type Stores = ReturnType<typeof storesOn>;
