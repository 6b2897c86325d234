import { route } from '#contract/routes/get-batch.ts';
import { batchResource } from '#domain/batches/batch.ts';
import { countBatch } from '#domain/batches/count-batch.ts';
import { findBatch } from '#domain/batches/find-batch.ts';
import { batches } from '#runtime/composition/services.ts';
import { lambdaRoute } from '#runtime/http/lambda-route.ts';

const services = { batches: batches() };

export const handler = lambdaRoute(
  route,
  async ({ workspaceId, parameters }) => ({
    data: batchResource(
      await countBatch(services, await findBatch(services, workspaceId, parameters.batch_id)),
    ),
  }),
  // The items of up to 1,000 requests are read, which costs far more than the check.
  { awaitsRateLimit: false },
);
