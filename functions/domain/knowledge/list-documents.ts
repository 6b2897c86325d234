import { ServiceError } from '#contract/errors.ts';
import type { Services } from '#domain/services.ts';
import type { KnowledgeDocument } from './knowledge.ts';

/** What a workspace's agents can look up, by name. */
export const listDocuments =
  (services: Pick<Services, 'knowledge' | 'workspaces'>) =>
  async (workspaceId: string): Promise<KnowledgeDocument[]> => {
    if ((await services.workspaces.get(workspaceId)) === undefined)
      throw new ServiceError('notFound', `Workspace ${workspaceId} not found`);
    return services.knowledge.list(workspaceId);
  };
