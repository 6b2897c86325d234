import { route } from '#contract/routes/list-batch-results.ts';
import { listBatchResults } from '#domain/batches/list-batch-results.ts';
import { batches, messages } from '#runtime/composition/services.ts';
import { listRoute } from '#runtime/http/list-route.ts';

const services = { batches: batches(), messages: messages() };

export const handler = listRoute(route, ({ workspaceId, parameters, query }) =>
  listBatchResults(services, {
    workspaceId,
    batchId: parameters.batch_id,
    status: query.status,
    limit: query.limit,
    offset: query.offset,
  }),
);
