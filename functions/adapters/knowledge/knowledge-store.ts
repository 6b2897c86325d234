import type { KnowledgeHead, KnowledgeTable } from '#adapters/dynamo/knowledge/knowledge-table.ts';
import { backOff } from '#adapters/dynamo/table/back-off.ts';
import { objectCache } from '#adapters/object-cache.ts';
import type { KnowledgeStore } from '#domain/knowledge/knowledge-store.ts';
import type { IndexObjects } from './index-objects.ts';
import { KnowledgeIndex } from './knowledge-index.ts';

/**
 * Limit of the cache, in bytes of uncompressed JSON: one of the largest indexes (32 MB), or many small ones. In memory
 * an index takes eight times its JSON, so the cache takes at most about 260 MB of the function's 1,024 MB.
 */
const cachedBytes = 32 * 1024 * 1024;

/** Operators make changes by hand. If 10 attempts in a row conflict, something else is wrong. */
const maxChangeAttempts = 10;

export function knowledgeStore(table: KnowledgeTable, objects: IndexObjects): KnowledgeStore {
  const cache = objectCache<KnowledgeIndex | undefined>(cachedBytes);

  /** Undefined if another change has replaced the index. */
  const read = async ({ objectName }: KnowledgeHead): Promise<KnowledgeIndex | undefined> => {
    const object = await objects.get(objectName);
    return object && KnowledgeIndex.parse(object);
  };

  /** @param load returns undefined if the object was deleted: then the head has changed and is read again */
  const newest = async (
    workspaceId: string,
    load: (head: KnowledgeHead) => Promise<KnowledgeIndex | undefined>,
  ): Promise<{ head: KnowledgeHead; index: KnowledgeIndex } | undefined> => {
    let missing: string | undefined;
    for (;;) {
      const head = await table.head(workspaceId);
      if (head === undefined) return undefined;
      if (head.objectName === missing) throw new Error(`The knowledge index ${missing} is missing`);
      const index = await load(head);
      if (index !== undefined) return { head, index };
      missing = head.objectName;
    }
  };

  /** False if another change was stored meanwhile. */
  const attemptChange = async (
    ...[workspaceId, decide]: Parameters<KnowledgeStore['change']>
  ): Promise<boolean> => {
    // The head is read first. If another change is stored after this read, the condition on the revision makes the
    // write fail.
    const before = await newest(workspaceId, read);
    const change = decide(await table.documents(workspaceId));
    const index = (before?.index ?? KnowledgeIndex.empty()).changed(change);
    const { object, bytes } = await index.serialize();
    const objectName = await objects.put(workspaceId, object);
    const moved = await table.move(
      workspaceId,
      before?.head.revision ?? 0,
      { objectName, indexBytes: bytes },
      change,
    );
    const unused = moved ? before?.head.objectName : objectName;
    // The change has succeeded or failed by now, so an error is ignored. An object that cannot be deleted only costs
    // storage.
    if (unused !== undefined) await objects.delete(unused).catch(() => undefined);
    return moved;
  };

  return {
    list: (workspaceId) => table.documents(workspaceId),

    async change(workspaceId, decide) {
      for (let attempt = 1; attempt <= maxChangeAttempts; attempt += 1) {
        if (attempt > 1) await backOff(attempt);
        if (await attemptChange(workspaceId, decide)) return;
      }
      throw new Error('Others keep changing the documents of this workspace; nothing was changed');
    },

    async search(workspaceId, query, limit) {
      const found = await newest(workspaceId, (head) =>
        cache.get(head.objectName, head.indexBytes, () => read(head)),
      );
      return found?.index.isEmpty === false ? found.index.search(query, limit) : undefined;
    },
  };
}
