import { route } from '#contract/routes/list-batches.ts';
import { batchResource } from '#domain/batch.ts';
import { tallyBatches } from '#domain/tally-batch.ts';
import { listRoute } from '#runtime/list-route.ts';
import { batches } from '#runtime/services.ts';

const tally = tallyBatches({ batches: batches() });

export const handler = listRoute(route, async ({ workspaceId, query }) => {
  const { status, limit, offset } = query;
  const page = await batches().page(workspaceId, { status }, { limit, offset });
  return { pages: [(await tally(page.batches)).map(batchResource)], total: page.total };
});
