import { reconcileBatches } from '#domain/batches/reconcile-batches.ts';
import { requeuePurges } from '#domain/chats/requeue-purges.ts';
import { allEnded } from '#domain/platform/promises.ts';
import {
  clock,
  deliveries,
  log,
  purgeOutbox,
  purgeQueue,
  queueServices,
  random,
  reconciliationIndex,
  replySettings,
} from '#runtime/composition/services.ts';
import { measurements } from '#runtime/observability/invocation.ts';
import { observed } from '#runtime/observability/observed.ts';

const services = {
  ...queueServices(),
  deliveries: deliveries(),
  log,
  random,
  reconciliationIndex: reconciliationIndex(),
  replySettings: replySettings(),
};

const requeueServices = { clock, purgeOutbox: purgeOutbox(), purgeQueue: purgeQueue() };

export const handler = observed(async (_event: unknown): Promise<void> => {
  const [batches, purges] = await allEnded([reconcileBatches(services), requeuePurges(requeueServices)]);
  measurements.add('overdueBatches', batches.overdue, {});
  measurements.add('oldestRequestWait', batches.oldestWait / 1000, {});
  measurements.add('overduePurges', purges.overdue, {});
});
