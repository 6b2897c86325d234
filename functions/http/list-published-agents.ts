import { listPublishedAgentsRoute } from '#contract/routes/workspace.ts';
import { publishedAgentResource } from '#domain/agents/agent.ts';
import { agents } from '#runtime/composition/services.ts';
import { listRoute } from '#runtime/http/lambda-route.ts';

export const handler = listRoute(listPublishedAgentsRoute, async ({ workspaceId }) => ({
  pages: resources(workspaceId),
}));

async function* resources(workspaceId: string) {
  for await (const page of agents().listPublished(workspaceId)) yield page.map(publishedAgentResource);
}
