import { openAiDisabled } from '#contract/openai/error.ts';
import type { Workspace } from '#domain/workspaces/workspace.ts';
import type { Services } from './services.ts';

/** @throws OpenAiError if the workspace may not use the OpenAI-compatible routes */
export function requireOpenAi(workspace: Workspace | undefined): void {
  if (workspace?.openAiEnabled !== true) throw openAiDisabled();
}

/**
 * The check where the request is served: the gateway caches what the authorizer says of a caller.
 * @throws OpenAiError
 */
export const checkOpenAi = async (services: Services<'workspaces'>, workspaceId: string): Promise<void> =>
  requireOpenAi(await services.workspaces.get(workspaceId));
