import type {
  KnowledgeBaseRetrievalResult,
  RetrieveCommandInput,
  RetrieveCommandOutput,
} from '@aws-sdk/client-bedrock-agent-runtime';
import type { KnowledgeHead, KnowledgeTable } from '#adapters/dynamo/knowledge/knowledge-table.ts';
import { backOff } from '#adapters/dynamo/table/back-off.ts';
import type { TextWorker } from '#adapters/text-thread/text-worker.ts';
import {
  type KnowledgeBase,
  KnowledgeBaseFailure,
  type KnowledgeBaseFailureReason,
  type KnowledgeStore,
} from '#domain/knowledge/knowledge.ts';
import { type IndexObjects, KnowledgeIndex } from './knowledge-index.ts';

/** Operators make changes by hand, so 10 conflicts in a row are unlikely. */
const maxChangeAttempts = 10;

export function knowledgeStore(
  table: KnowledgeTable,
  objects: IndexObjects,
  textWorker: TextWorker,
): KnowledgeStore {
  /** Concurrent searches share one read. */
  const reading = new Map<string, ReturnType<IndexObjects['get']>>();
  const objectOf = (name: string): ReturnType<IndexObjects['get']> => {
    const read = reading.get(name) ?? objects.get(name).finally(() => reading.delete(name));
    reading.set(name, read);
    return read;
  };

  /** @param load returns undefined if the object is missing: then the head is read again */
  const newest = async <Loaded>(
    workspaceId: string,
    load: (head: KnowledgeHead) => Promise<Loaded | undefined>,
  ): Promise<{ head: KnowledgeHead; loaded: Loaded } | undefined> => {
    let missing: string | undefined;
    for (;;) {
      const head = await table.head(workspaceId);
      if (head === undefined) return undefined;
      if (head.objectName === missing) throw new Error(`The knowledge index ${missing} is missing`);
      const loaded = await load(head);
      if (loaded !== undefined) return { head, loaded };
      missing = head.objectName;
    }
  };

  const attemptChange = async (
    ...[workspaceId, decide]: Parameters<KnowledgeStore['change']>
  ): Promise<boolean> => {
    // The head is read first: if another change is stored later, the condition on the revision makes the write fail.
    const before = await newest(workspaceId, async ({ objectName }) => {
      const object = await objects.get(objectName);
      return object && KnowledgeIndex.parse(object);
    });
    const change = decide(await table.documents(workspaceId));
    const index = (before?.loaded ?? KnowledgeIndex.empty()).changed(change);
    const { object, bytes } = await index.serialize();
    const objectName = await objects.put(workspaceId, object);
    const moved = await table.move(
      workspaceId,
      before?.head.revision ?? 0,
      { objectName, indexBytes: bytes },
      change,
    );
    const unused = moved ? before?.head.objectName : objectName;
    // An object that cannot be deleted only costs storage.
    if (unused !== undefined) await objects.delete(unused).catch(() => undefined);
    return moved;
  };

  return {
    list: (workspaceId) => table.documents(workspaceId),

    async change(workspaceId, decide) {
      for (let attempt = 1; attempt <= maxChangeAttempts; attempt += 1) {
        if (attempt > 1) await backOff(table, attempt);
        if (await attemptChange(workspaceId, decide)) return;
      }
      throw new Error('Others keep changing the documents of this workspace; nothing was changed');
    },

    async search(workspaceId, query, limit) {
      const searched = await newest(workspaceId, async ({ objectName, indexBytes }) => {
        const search = { type: 'search' as const, objectName, indexBytes, query, limit };
        const found = await textWorker.run(workspaceId, search);
        if (!found.isMissing) return found;
        const object = await objectOf(objectName);
        if (object === undefined) return undefined;
        const loaded = await textWorker.run(workspaceId, { ...search, object });
        return loaded.isMissing ? undefined : loaded;
      });
      return searched?.loaded.passages;
    },
  };
}

export const bedrockKnowledgeBase = (
  send: (input: RetrieveCommandInput, signal: AbortSignal) => Promise<RetrieveCommandOutput>,
): KnowledgeBase => ({
  async retrieve({ knowledgeBaseId, query, limit }, signal) {
    const input = {
      knowledgeBaseId,
      retrievalQuery: { text: query },
      retrievalConfiguration: { vectorSearchConfiguration: { numberOfResults: limit } },
    };
    try {
      const { retrievalResults = [] } = await send(input, signal);
      return retrievalResults.map((result) => ({
        found: { text: result.content?.text ?? '', source: sourceOf(result) },
        score: result.score ?? 0,
      }));
    } catch (error) {
      signal.throwIfAborted();
      throw new KnowledgeBaseFailure(rejections[(error as Error).name] ?? 'refused', { cause: error });
    }
  },
});

const rejections: Partial<Record<string, KnowledgeBaseFailureReason>> = {
  AccessDeniedException: 'notAllowed',
  ResourceNotFoundException: 'notFound',
  ThrottlingException: 'busy',
};

/**
 * Each type of data source has a field of its own in `location`. This field has the address of the result as `uri`,
 * `url` or `id`; that of SQL has no address.
 */
function sourceOf({ location, metadata }: KnowledgeBaseRetrievalResult): Record<string, string | number> {
  const fields = Object.values(location ?? {}).filter((field) => typeof field === 'object');
  const { uri, url, id }: Partial<Record<string, string>> = Object.assign({}, ...fields);
  const source = uri ?? url ?? id;
  const page = metadata?.['x-amz-bedrock-kb-document-page-number'];
  return {
    type: location?.type?.toLowerCase() ?? 'unknown',
    ...(source !== undefined && { uri: source }),
    ...(typeof page === 'number' && { page }),
  };
}
