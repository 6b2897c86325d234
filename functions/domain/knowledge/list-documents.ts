import { ServiceError } from '#contract/errors.ts';
import type { WorkspaceServices } from '#domain/workspaces/services.ts';
import type { KnowledgeDocument } from './knowledge.ts';
import type { KnowledgeServices } from './services.ts';

/** What a workspace's agents can look up, by name. */
export const listDocuments =
  (services: Pick<KnowledgeServices, 'knowledge'> & Pick<WorkspaceServices, 'workspaces'>) =>
  async (workspaceId: string): Promise<KnowledgeDocument[]> => {
    if ((await services.workspaces.get(workspaceId)) === undefined)
      throw new ServiceError('notFound', `Workspace ${workspaceId} not found`);
    return services.knowledge.list(workspaceId);
  };
