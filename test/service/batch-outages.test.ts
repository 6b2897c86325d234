import { setTimeout as pass } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { openBatchTenant } from '#support/batch-tenant.ts';
import { requestsOf } from '#support/batches.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { startFailingService } from '#support/failing-service.ts';
import { replyWith } from '#support/model-server.ts';
import type { ModelCall } from '#support/scripted-model.ts';
import { useScriptedService } from '#support/use-service.ts';

const requestCount = 80;
/** The outage outlasts the six attempts of a call for which a client waits. */
const outageSeconds = 4;

const writes = /\.(PutItem|UpdateItem|DeleteItem|TransactWriteItems|BatchWriteItem)$/;

const down = {
  dynamodb: await startFailingService(({ headers }) => writes.test(String(headers['x-amz-target']))),
  s3: await startFailingService(({ method }) => method !== 'GET' && method !== 'HEAD'),
  sqs: await startFailingService(),
  sfn: await startFailingService(),
};
for (const each of Object.values(down)) closeAfterTests(each);
const { model, service } = await useScriptedService({
  variables: {
    AWS_ENDPOINT_URL_DYNAMODB: down.dynamodb.url,
    AWS_ENDPOINT_URL_S3: down.s3.url,
    AWS_ENDPOINT_URL_SQS: down.sqs.url,
    AWS_ENDPOINT_URL_SFN: down.sfn.url,
  },
});
model.onCall = (call) => void respondAfterDelay(call);
for (const name of ['dynamodb', 's3', 'sqs', 'sfn'] as const)
  down[name].emulator = service.run.endpoints[name];

/** One reply in twenty is too large for an item, so it is stored in the bucket. */
const replyTo = (message: string): string =>
  Number(message.split(' ')[1]) % 20 === 7 ? `To: ${message} ${'x'.repeat(450_000)}` : `To: ${message}`;

/** Calls that come after so many wait for the start of the outage, so that the batch cannot end before it. */
const first = requestCount / 8;
let received = 0;
const outage = Promise.withResolvers<void>();

async function respondAfterDelay(call: ModelCall): Promise<void> {
  received += 1;
  if (received > first) await outage.promise;
  await pass(150);
  replyWith(call, replyTo(call.request.messages.at(-1)?.content ?? ''));
}

it('a batch is whole and exact soon after all services of AWS were down', async () => {
  const tenant = await openBatchTenant(service, { titles: false });
  const requests = requestsOf(requestCount);
  const { id } = await tenant.submit(requests);
  await tenant.until(id, ({ completed_requests }) => completed_requests >= first);
  for (const each of Object.values(down)) each.isDown = true;
  outage.resolve();
  await pass(outageSeconds * 1000);
  for (const each of Object.values(down)) each.isDown = false;
  const batch = await tenant.end(id, 90);
  expect(down.dynamodb.rejected).toBeGreaterThan(0);
  expect(batch).toMatchObject({ status: 'completed', completed_requests: requestCount });
  await tenant.checkWhole(batch, requests);
  // No reply was lost because it could not be stored: the model was called at least once for each request.
  expect(received).toBeGreaterThanOrEqual(requestCount);
});
