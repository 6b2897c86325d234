import { keys } from '#adapters/dynamo/table/keys.ts';
import {
  attributesOf,
  fieldsOf,
  getAs,
  ifStill,
  startingWith,
  type Table,
} from '#adapters/dynamo/table/table.ts';
import { isConflict } from '#adapters/dynamo/table/transact-with-retry.ts';
import type { Audit } from '#adapters/dynamo/workspaces/api-key-store.ts';
import type { KnowledgeChange, KnowledgeDocument } from '#domain/knowledge/knowledge.ts';

export interface KnowledgeHead {
  revision: number;
  objectName: string;
  /** Uncompressed. */
  indexBytes: number;
}

export type KnowledgeTable = ReturnType<typeof dynamoKnowledgeTable>;

export const dynamoKnowledgeTable = (table: Table, audit: Audit) => ({
  pauseUpTo: table.pauseUpTo,

  /** Undefined if the workspace never had a document. */
  head: (workspaceId: string) => getAs(table, keys.knowledgeHead(workspaceId), fieldsOf<KnowledgeHead>),

  async documents(workspaceId: string): Promise<KnowledgeDocument[]> {
    const items = await table.queryAll(startingWith(keys.knowledgeDocument(workspaceId, '')));
    const documents = items.map((item) => fieldsOf<KnowledgeDocument>(item));
    return documents.sort((one, other) => one.name.localeCompare(other.name));
  },

  /**
   * In one transaction. `from` is 0 without a head.
   * @returns false if the revision is not `from` any more; also after some other failures, such as a conflict
   */
  async move(
    workspaceId: string,
    from: number,
    head: Omit<KnowledgeHead, 'revision'>,
    { put, remove }: KnowledgeChange,
  ): Promise<boolean> {
    try {
      await table.transact([
        {
          Put: {
            Item: { ...keys.knowledgeHead(workspaceId), ...attributesOf({ ...head, revision: from + 1 }) },
            ...ifStill({ revision: from === 0 ? undefined : from }),
          },
        },
        ...put.map(({ document }) => ({
          Put: { Item: { ...keys.knowledgeDocument(workspaceId, document.id), ...attributesOf(document) } },
        })),
        ...remove.map((id) => ({ Delete: { Key: keys.knowledgeDocument(workspaceId, id) } })),
        ...audit('knowledge changed', workspaceId, workspaceId, {
          put: put.map(({ document: { id, name } }) => ({ document_id: id, name })),
          removed: remove,
        }),
      ]);
      return true;
    } catch (error) {
      if (isConflict(error)) return false;
      throw error;
    }
  },
});
