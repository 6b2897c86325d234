import { setTimeout as pass } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { openBatchTenant } from '#support/batch-tenant.ts';
import { requestsOf } from '#support/batches.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { startFailingService } from '#support/failing-service.ts';
import { replyWith } from '#support/model-server.ts';
import type { ModelCall } from '#support/scripted-model.ts';
import { useScriptedService } from '#support/use-service.ts';

const isSoak = process.env.SOAK !== undefined;
/** In the small case, the outage outlasts the six attempts of a call for which a client waits. */
const [requestCount, outageSeconds] = isSoak ? [600, 6] : [80, 4];
/**
 * Seconds from the end of the outage to the end of the batch. In the small case, other tests may keep the machine busy.
 */
const endSeconds = isSoak ? 20 : 90;

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
let first = 0;
let received = 0;
let outage = Promise.withResolvers<void>();

async function respondAfterDelay(call: ModelCall): Promise<void> {
  received += 1;
  if (received > first) await outage.promise;
  await pass(150);
  replyWith(call, replyTo(call.request.messages.at(-1)?.content ?? ''));
}

const outages = isSoak
  ? ([['dynamodb', 's3'], ['s3'], ['sqs'], ['sfn']] as const)
  : ([['dynamodb', 's3', 'sqs', 'sfn'], ['sfn']] as const);

/**
 * The number of calls at which the outage starts. A batch calls its workflow only at its end, so an outage of Step
 * Functions starts with the last replies. It calls its queue only at its start, so an outage of SQS starts before it.
 */
const startOf = (names: readonly string[]): number => {
  const [name] = names;
  if (names.length > 1 || name === 's3') return requestCount / 8;
  return name === 'sqs' ? 0 : requestCount - 30;
};

it.each(outages.map((names) => [names.join(', '), names] as const))(
  'a batch is whole and exact soon after %s were down',
  async (_title, names) => {
    const tenant = await openBatchTenant(service, { titles: false });
    const requests = requestsOf(requestCount);
    [first, received, outage] = [startOf(names), 0, Promise.withResolvers()];
    const startOutage = (): void => {
      for (const name of names) Object.assign(down[name], { isDown: true, rejected: 0 });
      outage.resolve();
    };
    if (first === 0) startOutage();
    const { id } = await tenant.submit(requests);
    await tenant.until(id, ({ completed_requests }) => completed_requests >= first);
    if (first > 0) startOutage();
    await pass(outageSeconds * 1000);
    for (const name of names) down[name].isDown = false;
    const end = performance.now();
    const batch = await tenant.end(id, endSeconds);
    console.log(
      `${names.join(', ')}: ${names.map((name) => down[name].rejected).join(', ')} calls met the outage;`,
      `the batch ended ${((performance.now() - end) / 1000).toFixed(1)} s after it`,
    );
    expect(Math.max(...names.map((name) => down[name].rejected))).toBeGreaterThan(0);
    expect(batch).toMatchObject({ status: 'completed', completed_requests: requestCount });
    await tenant.checkWhole(batch, requests);
    // No reply was lost because it could not be stored: the model was called at least once for each request.
    expect(received).toBeGreaterThanOrEqual(requestCount);
  },
);
