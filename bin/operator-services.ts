import { agentStore, apiKeys, clock, workspaces } from '#runtime/composition/services.ts';
import { identifiers } from '#runtime/environment/invocation-context.ts';

export const operatorServices = () => ({
  agents: agentStore(),
  apiKeys: apiKeys(),
  clock,
  identifiers,
  workspaces: workspaces(),
});
