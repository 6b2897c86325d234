import { route } from '#contract/routes/list-published-agents.ts';
import { publishedAgentResource } from '#domain/agent.ts';
import { listRoute } from '#runtime/list-route.ts';
import { agents } from '#runtime/services.ts';

export const handler = listRoute(route, async ({ workspaceId }) => ({
  pages: resources(workspaceId),
}));

async function* resources(workspaceId: string) {
  for await (const page of agents().listPublished(workspaceId)) yield page.map(publishedAgentResource);
}
