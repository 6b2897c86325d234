import { route } from '#contract/routes/list-batches.ts';
import { batchResource } from '#domain/batch.ts';
import { listRoute } from '#runtime/list-route.ts';
import { batches } from '#runtime/services.ts';

export const handler = listRoute(route, async ({ workspaceId, query }) => {
  const { status, limit, offset } = query;
  const page = await batches().page(workspaceId, { status }, { limit, offset });
  return { pages: [page.batches.map(batchResource)], total: page.total };
});
