import type { KnowledgeHead, KnowledgeTable } from '#adapters/dynamo/knowledge/knowledge-table.ts';
import { backOff } from '#adapters/dynamo/table/back-off.ts';
import type { KnowledgeStore } from '#domain/knowledge/knowledge-store.ts';
import type { IndexObjects } from './index-objects.ts';
import { KnowledgeIndex } from './knowledge-index.ts';
import { objectCache } from './object-cache.ts';

/**
 * Of unpacked indexes in a function's memory, where each takes eight times its JSON: one of the largest (32 MB), or many
 * small ones, so at most some 260 of 1,024 MB.
 */
const cachedBytes = 32 * 1024 * 1024;

/** Changes are made by people: that so many meet again and again is an error. */
const attemptsToChange = 10;

export function knowledgeStore(table: KnowledgeTable, objects: IndexObjects): KnowledgeStore {
  const cache = objectCache<KnowledgeIndex | undefined>(cachedBytes);

  /** Undefined when another change has replaced it. */
  const read = async ({ objectName }: KnowledgeHead): Promise<KnowledgeIndex | undefined> => {
    const object = await objects.get(objectName);
    return object && KnowledgeIndex.parse(object);
  };

  /** @param load undefined when the object is gone: then the head has moved, and is read once more */
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

  return {
    list: (workspaceId) => table.documents(workspaceId),

    async change(workspaceId, decide) {
      for (let attempt = 1; attempt <= attemptsToChange; attempt += 1) {
        if (attempt > 1) await backOff(attempt);
        // The head first: what changes behind it is refused by its revision.
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
        // The change stands or has failed by now: an object that stays behind is only room.
        if (unused !== undefined) await objects.delete(unused).catch(() => undefined);
        if (moved) return;
      }
      throw new Error('Others keep changing the documents of this workspace; nothing was changed');
    },

    async search(workspaceId, query, most) {
      const found = await newest(workspaceId, (head) =>
        cache.get(head.objectName, head.indexBytes, () => read(head)),
      );
      return found?.index.isEmpty === false ? found.index.search(query, most) : undefined;
    },
  };
}
