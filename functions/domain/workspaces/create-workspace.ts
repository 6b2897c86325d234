import type { Services } from './services.ts';
import type { Workspace } from './workspace.ts';

export async function createWorkspace(
  services: Services<'clock' | 'identifiers' | 'workspaces'>,
  {
    openAiEnabled = false,
    ...input
  }: Pick<Workspace, 'name' | 'whitelistEnabled' | 'limits'> & Partial<Pick<Workspace, 'openAiEnabled'>>,
): Promise<Workspace> {
  const workspace: Workspace = {
    id: services.identifiers.workspaceId(),
    ...input,
    enabled: true,
    titlesEnabled: true,
    openAiEnabled,
    ownLimits: {},
    retentionDays: null,
    createdAt: services.clock.now().toISOString(),
  };
  await services.workspaces.put(workspace);
  return workspace;
}
