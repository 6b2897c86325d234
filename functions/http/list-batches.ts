import { listBatchesRoute } from '#contract/routes/batches.ts';
import { batchResource } from '#domain/batches/batch.ts';
import { countBatches } from '#domain/batches/batches.ts';
import { batches } from '#runtime/composition/services.ts';
import { listRoute } from '#runtime/http/lambda-route.ts';

const services = { batches: batches() };

export const handler = listRoute(listBatchesRoute, async ({ workspaceId, query }) => {
  const { status, ...page } = query;
  const { batches: found, total, ends } = await batches().page(workspaceId, { status }, page);
  return { pages: [(await countBatches(services, found)).map(batchResource)], total, ends };
});
