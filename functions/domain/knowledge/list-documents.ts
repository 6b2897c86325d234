import { ServiceError } from '#contract/errors.ts';
import type { KnowledgeDocument } from './knowledge.ts';
import type { Services } from './services.ts';

/**
 * A workspace's documents, sorted by name.
 * @throws notFound for an unknown workspace
 */
export async function listDocuments(
  services: Services<'knowledge' | 'workspaces'>,
  workspaceId: string,
): Promise<KnowledgeDocument[]> {
  if ((await services.workspaces.get(workspaceId)) === undefined)
    throw new ServiceError('notFound', `Workspace ${workspaceId} not found`);
  return services.knowledge.list(workspaceId);
}
