import { ServiceError } from '#contract/errors.ts';
import { type KnowledgeDocument, knowledgeLimits } from './knowledge.ts';
import type { Services } from './services.ts';

/**
 * Removes documents from a workspace's knowledge, all or none.
 * @param input.documents ids or names
 * @throws notFound for an unknown workspace or document; badRequest for too many documents
 */
export async function removeDocuments(
  services: Services<'knowledge' | 'workspaces'>,
  input: { workspaceId: string; documents: readonly string[] },
): Promise<KnowledgeDocument[]> {
  if ((await services.workspaces.get(input.workspaceId)) === undefined)
    throw new ServiceError('notFound', `Workspace ${input.workspaceId} not found`);
  if (input.documents.length > knowledgeLimits.documentsAtOnce)
    throw new ServiceError('badRequest', `At most ${knowledgeLimits.documentsAtOnce} documents at once`);
  let removed: KnowledgeDocument[] = [];
  await services.knowledge.change(input.workspaceId, (known) => {
    const found = input.documents.map((idOrName) => {
      const document = known.find(({ id }) => id === idOrName) ?? known.find(({ name }) => name === idOrName);
      if (document === undefined)
        throw new ServiceError('notFound', `The workspace has no document ${idOrName}`);
      return document;
    });
    removed = [...new Set(found)];
    return { put: [], remove: removed.map(({ id }) => id) };
  });
  return removed;
}
