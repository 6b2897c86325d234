import { openAiDisabled } from '#contract/openai/error.ts';
import type { WorkspaceServices } from '#domain/workspaces/services.ts';
import type { Workspace } from '#domain/workspaces/workspace.ts';

/** @throws OpenAiError if the workspace may not use the OpenAI-compatible routes */
export function requireOpenAi(workspace: Workspace | undefined): void {
  if (workspace?.openAiEnabled !== true) throw openAiDisabled();
}

/**
 * The check where the request is served: the gateway caches what the authorizer says of a caller.
 * @throws OpenAiError
 */
export const checkOpenAi =
  (services: Pick<WorkspaceServices, 'workspaces'>) =>
  async (workspaceId: string): Promise<void> =>
    requireOpenAi(await services.workspaces.get(workspaceId));
