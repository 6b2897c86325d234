import type { Pause } from '#adapters/dynamo/table/back-off.ts';
import { keys } from '#adapters/dynamo/table/keys.ts';
import { type Item, isConflict, type Table, type Write } from '#adapters/dynamo/table/table.ts';
import type { Audit } from '#adapters/dynamo/workspaces/audit-log.ts';
import type { KnowledgeDocument } from '#domain/knowledge/knowledge.ts';
import type { KnowledgeChange } from '#domain/knowledge/knowledge-store.ts';

/** Names the current index object of a workspace. */
export interface KnowledgeHead {
  /** Rises with every change. Of two concurrent changes, one fails. */
  revision: number;
  objectName: string;
  /** Uncompressed size of the index. */
  indexBytes: number;
}

export interface KnowledgeTable extends Pause {
  /** Undefined if the workspace never had a document. */
  head(workspaceId: string): Promise<KnowledgeHead | undefined>;
  documents(workspaceId: string): Promise<KnowledgeDocument[]>;
  /**
   * Replaces the head and changes the documents' items, in one transaction. False if the revision is no longer `from`.
   */
  move(
    workspaceId: string,
    from: number,
    head: Omit<KnowledgeHead, 'revision'>,
    change: KnowledgeChange,
  ): Promise<boolean>;
}

const documentOf = (item: Item): KnowledgeDocument => ({
  id: item.id as string,
  name: item.name as string,
  contentType: item.content_type as string,
  bytes: item.bytes as number,
  characters: item.characters as number,
  textBytes: item.text_bytes as number,
  passages: item.passages as number,
  addedAt: item.added_at as string,
});

const itemOf = (workspaceId: string, document: KnowledgeDocument): Item => ({
  ...keys.knowledgeDocument(workspaceId, document.id),
  id: document.id,
  name: document.name,
  content_type: document.contentType,
  bytes: document.bytes,
  characters: document.characters,
  text_bytes: document.textBytes,
  passages: document.passages,
  added_at: document.addedAt,
});

export function dynamoKnowledgeTable(table: Table, audit: Audit): KnowledgeTable {
  return {
    pauseUpTo: table.pauseUpTo,

    async head(workspaceId) {
      const item = await table.get(keys.knowledgeHead(workspaceId));
      return (
        item && {
          revision: item.revision as number,
          objectName: item.object_name as string,
          indexBytes: item.index_bytes as number,
        }
      );
    },

    async documents(workspaceId) {
      const first = keys.knowledgeDocument(workspaceId, '');
      const documents: KnowledgeDocument[] = [];
      for await (const page of table.queryPages({
        KeyConditionExpression: 'pk = :pk AND begins_with(sk, :kind)',
        ExpressionAttributeValues: { ':pk': first.pk, ':kind': first.sk },
      }))
        documents.push(...page.map(documentOf));
      return documents.sort((one, other) => one.name.localeCompare(other.name));
    },

    async move(workspaceId, from, { objectName, indexBytes }, { put, remove }) {
      try {
        await table.transact((TableName): Write[] => [
          {
            Put: {
              TableName,
              Item: {
                ...keys.knowledgeHead(workspaceId),
                revision: from + 1,
                object_name: objectName,
                index_bytes: indexBytes,
              },
              ConditionExpression: from === 0 ? 'attribute_not_exists(pk)' : 'revision = :from',
              ...(from > 0 && { ExpressionAttributeValues: { ':from': from } }),
            },
          },
          ...put.map(({ document }) => ({ Put: { TableName, Item: itemOf(workspaceId, document) } })),
          ...remove.map((id) => ({
            Delete: { TableName, Key: keys.knowledgeDocument(workspaceId, id) },
          })),
          ...audit(TableName, {
            action: 'knowledge changed',
            workspaceId,
            target: workspaceId,
            changes: {
              put: put.map(({ document: { id, name } }) => ({ document_id: id, name })),
              removed: remove,
            },
          }),
        ]);
        return true;
      } catch (error) {
        if (isConflict(error)) return false;
        throw error;
      }
    },
  };
}
