import { listBatchResultsRoute } from '#contract/routes/batches.ts';
import { listBatchResults } from '#domain/batches/batches.ts';
import { batches, messages } from '#runtime/composition/services.ts';
import { listRoute } from '#runtime/http/lambda-route.ts';

const services = { batches: batches(), messages: messages() };

export const handler = listRoute(listBatchResultsRoute, ({ workspaceId, parameters, query }) =>
  listBatchResults(services, { workspaceId, batchId: parameters.batch_id, ...query }),
);
