import { route } from '#contract/routes/cancel-batch.ts';
import { batchResource } from '#domain/batch.ts';
import { cancelBatch } from '#domain/cancel-batch.ts';
import { bufferedRoute } from '#runtime/buffered-route.ts';
import { batches, batchWorkflow, clock, log } from '#runtime/services.ts';

const cancel = cancelBatch({ batches: batches(), batchWorkflow: batchWorkflow(), clock, log });

export const handler = bufferedRoute(
  route,
  async ({ workspaceId, parameters, admitted }) => ({
    data: batchResource(await cancel(workspaceId, parameters.batch_id, admitted)),
  }),
  { waits: true },
);
