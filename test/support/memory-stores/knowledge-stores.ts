import { randomUUID } from 'node:crypto';
import type { IndexObjects } from '#adapters/knowledge/index-objects.ts';
import { rankTexts } from '#adapters/knowledge/passage-index.ts';
import type { KnowledgeDocument, PassageOfDocument } from '#domain/knowledge/knowledge.ts';
import type { KnowledgeChange, KnowledgeStore } from '#domain/knowledge/knowledge-store.ts';
import type { MemoryAudit } from './workspace-stores.ts';

export function memoryKnowledgeStore(audit: MemoryAudit): KnowledgeStore {
  const workspaces = new Map<string, Map<string, KnowledgeChange['put'][number]>>();
  const documentsOf = (workspaceId: string) => [...(workspaces.get(workspaceId)?.values() ?? [])];
  const list = (workspaceId: string): KnowledgeDocument[] =>
    structuredClone(documentsOf(workspaceId).map(({ document }) => document)).sort((one, other) =>
      one.name.localeCompare(other.name),
    );
  return {
    list: async (workspaceId) => list(workspaceId),
    async change(workspaceId, decide) {
      const { put, remove } = structuredClone(decide(list(workspaceId)));
      const documents = new Map(workspaces.get(workspaceId));
      for (const id of remove) documents.delete(id);
      for (const added of put) documents.set(added.document.id, added);
      workspaces.set(workspaceId, documents);
      const changes = {
        put: put.map(({ document: { id, name } }) => ({ document_id: id, name })),
        removed: remove,
      };
      audit({ action: 'knowledge changed', workspaceId, target: workspaceId, changes });
    },
    async search(workspaceId, query, limit) {
      const passages = documentsOf(workspaceId).flatMap(({ document: { id, name }, passages }) =>
        passages.map((passage): PassageOfDocument => ({ ...passage, document: { id, name } })),
      );
      if (passages.length === 0) return undefined;
      return rankTexts(passages, query, limit).map(({ found: { textIndex }, score }) => ({
        found: passages[textIndex] as PassageOfDocument,
        score,
      }));
    },
  };
}

/** For the knowledge store of production, which stores its index outside the table. */
export function memoryIndexObjects(): IndexObjects {
  const objects = new Map<string, Uint8Array>();
  return {
    async put(workspaceId, object) {
      const name = `knowledge/${workspaceId}/${randomUUID()}`;
      objects.set(name, object);
      return name;
    },
    get: async (name) => objects.get(name),
    async delete(name) {
      objects.delete(name);
    },
  };
}
