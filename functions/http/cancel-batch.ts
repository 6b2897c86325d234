import { cancelBatchRoute } from '#contract/routes/batches.ts';
import { batchResource } from '#domain/batches/batch.ts';
import { cancelBatch } from '#domain/batches/batches.ts';
import { batches, batchWorkflow, clock, log } from '#runtime/composition/services.ts';
import { lambdaRoute } from '#runtime/http/lambda-route.ts';

const services = { batches: batches(), batchWorkflow: batchWorkflow(), clock, log };

export const handler = lambdaRoute(
  cancelBatchRoute,
  async ({ workspaceId, parameters }, { awaitRateLimit }) => ({
    data: batchResource(await cancelBatch(services, workspaceId, parameters.batch_id, awaitRateLimit)),
  }),
  { awaitsRateLimit: true },
);
