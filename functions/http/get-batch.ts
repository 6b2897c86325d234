import { route } from '#contract/routes/get-batch.ts';
import { batchResource } from '#domain/batch.ts';
import { findBatch } from '#domain/find-batch.ts';
import { tallyBatch } from '#domain/tally-batch.ts';
import { bufferedRoute } from '#runtime/buffered-route.ts';
import { batches } from '#runtime/services.ts';

const find = findBatch({ batches: batches() });
const tally = tallyBatch({ batches: batches() });

export const handler = bufferedRoute(route, async ({ workspaceId, parameters }) => ({
  data: batchResource(await tally(await find(workspaceId, parameters.batch_id))),
}));
