import { route } from '#contract/routes/cancel-batch.ts';
import { batchResource } from '#domain/batches/batch.ts';
import { cancelBatch } from '#domain/batches/cancel-batch.ts';
import { batches, batchWorkflow, clock, log } from '#runtime/composition/services.ts';
import { bufferedRoute } from '#runtime/http/buffered-route.ts';

const cancel = cancelBatch({ batches: batches(), batchWorkflow: batchWorkflow(), clock, log });

export const handler = bufferedRoute(
  route,
  async ({ workspaceId, parameters }, { awaitRateLimit }) => ({
    data: batchResource(await cancel(workspaceId, parameters.batch_id, awaitRateLimit)),
  }),
  { awaitsRateLimit: true },
);
