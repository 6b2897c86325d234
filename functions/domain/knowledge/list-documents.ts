import { ServiceError } from '#contract/errors.ts';
import type { KnowledgeDocument } from './knowledge.ts';
import type { KnowledgeServices } from './services.ts';

/**
 * A workspace's documents, sorted by name.
 * @throws notFound for an unknown workspace
 */
export const listDocuments =
  (services: Pick<KnowledgeServices, 'knowledge' | 'workspaces'>) =>
  async (workspaceId: string): Promise<KnowledgeDocument[]> => {
    if ((await services.workspaces.get(workspaceId)) === undefined)
      throw new ServiceError('notFound', `Workspace ${workspaceId} not found`);
    return services.knowledge.list(workspaceId);
  };
