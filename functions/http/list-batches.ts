import { route } from '#contract/routes/list-batches.ts';
import { batchResource } from '#domain/batches/batch.ts';
import { countBatches } from '#domain/batches/count-batch.ts';
import { batches } from '#runtime/composition/services.ts';
import { listRoute } from '#runtime/http/list-route.ts';

const tally = countBatches({ batches: batches() });

export const handler = listRoute(route, async ({ workspaceId, query }) => {
  const { status, limit, offset } = query;
  const page = await batches().page(workspaceId, { status }, { limit, offset });
  return { pages: [(await tally(page.batches)).map(batchResource)], total: page.total };
});
