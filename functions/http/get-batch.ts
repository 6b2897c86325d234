import { getBatchRoute } from '#contract/routes/batches.ts';
import { batchResource } from '#domain/batches/batch.ts';
import { countBatch, findBatch } from '#domain/batches/batches.ts';
import { batches } from '#runtime/composition/services.ts';
import { lambdaRoute } from '#runtime/http/lambda-route.ts';

const services = { batches: batches() };

export const handler = lambdaRoute(
  getBatchRoute,
  async ({ workspaceId, parameters }) => ({
    data: batchResource(
      await countBatch(services, await findBatch(services, workspaceId, parameters.batch_id)),
    ),
  }),
  // The rate limit is checked first, because the work may read the items of 1,000 requests.
  { awaitsRateLimit: false },
);
