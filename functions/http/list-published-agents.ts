import { listPublishedAgentsRoute } from '#contract/routes/workspace.ts';
import { publishedAgentResource } from '#domain/agents/agent.ts';
import { agents } from '#runtime/composition/services.ts';
import { listRoute } from '#runtime/http/lambda-route.ts';

export const handler = listRoute(listPublishedAgentsRoute, async ({ workspaceId }) => ({
  pages: agents().listPublished(workspaceId),
  resourceOf: publishedAgentResource,
}));
