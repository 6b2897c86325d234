import { S3Client } from '@aws-sdk/client-s3';
import { SFNClient, StartExecutionCommand } from '@aws-sdk/client-sfn';
import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { APIGatewayAuthorizerResult, APIGatewayProxyResult } from 'aws-lambda';
import { describe, expect, it, vi } from 'vitest';
import { s3PreparedAttachments } from '#adapters/prepared-attachments.ts';
import { sqsBatchQueue, stepFunctionsBatchWorkflow } from '#adapters/queues.ts';
import { s3FileStore } from '#adapters/s3-objects.ts';
import type { Batch } from '#domain/batches/batch.ts';
import type { SlotMessage } from '#domain/batches/batch-store.ts';
import type { Webhook } from '#domain/webhooks/webhook.ts';
import { createApiKey } from '#domain/workspaces/api-keys.ts';
import { batches, fileIndex } from '#runtime/composition/services.ts';
import { identifiers } from '#runtime/environment/invocation-context.ts';
import { batchAt, checkEnded, tally, waitForBatchEnd } from '#support/batches.ts';
import { clientOf } from '#support/client.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { operatorAt } from '#support/data-table.ts';
import { startDynamoProxy } from '#support/dynamo-proxy.ts';
import { batch, batchRequest } from '#support/frozen/entities.ts';
import { invokerOf } from '#support/frozen/invoke-function.ts';
import { type FrozenMessages, readFrozenMessages } from '#support/frozen/read-frozen.ts';
import { runDefinition } from '#support/frozen/run-definition.ts';
import { dataOf } from '#support/open-tenant.ts';
import { createTenant, operator, setLimits } from '#support/service.ts';
import { uploaderOf } from '#support/upload.ts';
import { useService } from '#support/use-service.ts';
import { startWebhookReceiver, status } from '#support/webhook-receiver.ts';

const frozen: FrozenMessages = await readFrozenMessages();
const ids = frozen.workflow.execution.input;

const service = await useService({});
const tenant = await createTenant();
const client = clientOf(service, tenant);
const { invoke } = closeAfterTests(invokerOf(service.run));

/** What the frozen value has and `value` lacks: fields, and types of values. Additional fields are allowed. */
function missingFields(value: unknown, frozen: unknown, path = 'it'): string[] {
  if (typeOf(value) !== typeOf(frozen)) return [`${path} is ${typeOf(value)} instead of ${typeOf(frozen)}`];
  if (Array.isArray(frozen))
    return frozen.slice(0, 1).flatMap((inner) => missingFields((value as unknown[])[0], inner, `${path}[0]`));
  if (typeof frozen !== 'object' || frozen === null) return [];
  return Object.entries(frozen).flatMap(([name, inner]) =>
    missingFields((value as Record<string, unknown>)[name], inner, `${path}.${name}`),
  );
}

const typeOf = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;

/** A frozen value with the workspace and batch ids replaced by those of a current batch. */
const withIdsOf = <Frozen>(value: Frozen, { workspaceId, id }: Pick<Batch, 'workspaceId' | 'id'>): Frozen => {
  const batchIds = [ids.batchId, ...frozen.queue.map(({ body }) => body.batchId)];
  const text = batchIds.reduce((json, batchId) => json.replaceAll(batchId, id), JSON.stringify(value));
  return JSON.parse(text.replaceAll(frozen.workspaceId, workspaceId)) as Frozen;
};

/** The requests of an unstarted batch: two request groups. */
const unstartedRequests = Array.from({ length: 11 }, (_, position) => batchRequest(position));

/** Stores a batch without starting its workflow, as if its creator had died. The caller runs the batch. */
async function createUnstarted(webhook: Webhook | null = null): Promise<Batch> {
  const { workspaceId, agentId, apiKeyId } = tenant;
  const now = Date.now();
  const made = batch(1, {
    id: identifiers.uuid(),
    ...{ workspaceId, agentId, apiKeyId, total: unstartedRequests.length },
    webhookEvents: webhook?.events ?? [],
    createdAt: new Date(now).toISOString(),
    expiresAt: new Date(now + 3_600_000).toISOString(),
  });
  const requests = unstartedRequests.map((request) => ({ ...request, agentId }));
  await batches().create(made, requests, webhook, null);
  return made;
}

/** Resolves when workers have ended all requests of a batch. */
const untilProcessed = ({ workspaceId, id }: Pick<Batch, 'workspaceId' | 'id'>): Promise<void> =>
  vi.waitFor(
    async () => {
      const now = await batches().get(workspaceId, id);
      expect(now?.next).toBeGreaterThanOrEqual(unstartedRequests.length);
      // The last worker removes its slot.
      expect(now?.slots).toEqual({});
    },
    { timeout: 60_000 },
  );

/** Runs a batch with the earlier version's workflow definition. */
const runFrozenWorkflow = (unstarted: Batch) =>
  runDefinition(withIdsOf(frozen.workflow.definition, unstarted), {
    input: withIdsOf(ids, unstarted),
    taskToken: 'a token of nobody',
    invoke,
    awaitTask: () => untilProcessed(unstarted),
  });

/** Stores a batch whose first slot has the epoch of a frozen message: one more for each worker that has had it. */
async function createOffered({ slot: number, epoch }: SlotMessage): Promise<Batch> {
  const offered = await createUnstarted();
  const until = Date.now() + 60_000;
  await batches().topUp(offered, [number], until);
  for (let owners = 0; owners < epoch; owners += 1) {
    const owner = { name: 'earlier worker', until };
    const acquired = await batches().acquire(offered, { number, epoch: owners }, owner);
    await batches().pass(offered, acquired?.slot ?? expect.unreachable(), { until, isClean: true });
  }
  return offered;
}

const statusesOf = async (batch: Batch): Promise<string[]> =>
  (await batches().allItems(batch)).map(({ status }) => status);

const allSucceeded = unstartedRequests.map(() => 'success');

const customIds = unstartedRequests.map(({ customId }) => ({ custom_id: customId }));

describe('what an earlier version has sent', () => {
  it.each(frozen.queue)('is done from the queue: of $sender, delayed $delaySeconds s', async (sent) => {
    const offered = await createOffered(sent.body);
    const { body, group } = withIdsOf(sent, offered);
    const [, QueueUrl] =
      Object.entries(service.run.physicalIds).find(([id]) => id.startsWith('BatchesRequests')) ?? [];
    const sqs = new SQSClient({
      ...operatorAt(service.run.endpoints.sqs),
      useQueueUrlAsEndpoint: false,
    });
    await sqs.send(
      new SendMessageCommand({ QueueUrl, MessageBody: JSON.stringify(body), MessageGroupId: group }),
    );
    sqs.destroy();
    await expect.poll(() => statusesOf(offered)).toEqual(allSucceeded);
    await runFrozenWorkflow(offered);
    const ended = await waitForBatchEnd(client, offered.id, 60);
    expect(tally(await checkEnded(client, ended, customIds))).toEqual({ success: offered.total });
  });

  it('is taken by the worker as Lambda hands it over', async () => {
    const offered = await createOffered(JSON.parse(frozen.event.Records[0]?.body ?? ''));
    await invoke('ProcessBatchItems', withIdsOf(frozen.event, offered));
    expect(await statusesOf(offered)).toEqual(allSucceeded);
    await runFrozenWorkflow(offered);
    expect(await batchAt(client, offered.id)).toMatchObject({ completed_requests: offered.total });
  });

  it('goes on with the code of today: an execution that keeps its definition', async () => {
    const receiver = await startWebhookReceiver(status(500), status(200));
    const events = ['completed', 'failed'] as const;
    const unstarted = await createUnstarted({ url: receiver.url, events: [...events], secret: null });
    // The first webhook call succeeds here: after a failure the workflow would wait some seconds, which the frozen
    // execution had shortened.
    receiver.responses.shift();
    const { runs, output } = await runFrozenWorkflow(unstarted);
    expect(output).toEqual(withIdsOf(frozen.workflow.execution.output, unstarted));
    for (const { state, output: outputNow } of runs) {
      const before = frozen.workflow.states.filter((each) => each.state === state);
      expect(missingFields(outputNow, before.at(-1)?.output, state)).toEqual([]);
    }
    const [call] = await receiver.called(1);
    expect(missingFields(call?.payload, frozen.webhook.body)).toEqual([]);
    expect(missingFields(call?.headers, frozen.webhook.headers)).toEqual([]);
    await receiver.close();
  });

  it('offers the slots of a batch that has ended to the others of its workspace', async () => {
    const other = await createUnstarted();
    await runFrozenWorkflow(await createUnstarted());
    // Nothing has dispatched this batch.
    await expect.poll(() => statusesOf(other)).toEqual(allSucceeded);
    await runFrozenWorkflow(other);
    expect(await batchAt(client, other.id)).toMatchObject({ completed_requests: other.total });
  });

  it('is answered in the words of the earlier definition', async () => {
    const unstarted = await createUnstarted({
      url: 'https://receiver.example/hook',
      events: ['completed', 'failed'],
      secret: null,
    });
    // Each function gets its frozen input, and its output must have the fields that the definition selects.
    const others = frozen.workflow.states.filter(({ input }) => !JSON.stringify(input).includes(ids.batchId));
    expect(others.map(({ functionName }) => functionName)).toEqual(['AdvanceBatch', 'FailBatch']);
    const [wait, fail] = others;
    const input = withIdsOf(ids, unstarted);
    expect(await invoke('AdvanceBatch', input)).toMatchObject(wait?.output as object);
    expect(missingFields(await invoke('FailBatch', input), fail?.output)).toEqual([]);
    expect(await batchAt(client, unstarted.id)).toMatchObject({ status: 'failed', failed_requests: 11 });
  });

  it('starts an execution', async () => {
    const unstarted = await createUnstarted();
    const { name, input } = withIdsOf(frozen.workflow.execution, unstarted);
    const sfn = new SFNClient(operatorAt(service.run.endpoints.sfn));
    await sfn.send(
      new StartExecutionCommand({
        stateMachineArn: service.run.outputs.BatchWorkflowArn,
        name,
        input: JSON.stringify(input),
      }),
    );
    sfn.destroy();
    const ended = await waitForBatchEnd(client, unstarted.id, 60);
    expect(tally(await checkEnded(client, ended, customIds))).toEqual({ success: unstarted.total });
  });

  it('prepares a file', async () => {
    const { file } = uploaderOf(service, tenant);
    const { uuid } = dataOf(await file('notes.txt', 'The bridge was built in 1932.')) as { uuid: string };
    const input = { ...frozen.attachment.input, ...(await attachmentInput(uuid)) };
    expect(await invoke('PrepareAttachment', input)).toEqual(frozen.attachment.output);
  });
});

/** The input of the function that prepares a file, with signed addresses, as a reply makes it. */
async function attachmentInput(uuid: string): Promise<Record<string, unknown>> {
  const { FileBucketName = '', ContentBucketName = '' } = service.run.outputs;
  const s3 = new S3Client({ ...operatorAt(service.run.endpoints.s3), forcePathStyle: true });
  const stored = (await fileIndex().get(tenant.workspaceId, uuid)) ?? expect.unreachable();
  const addresses = {
    file: await s3FileStore(s3, FileBucketName).readAddress(stored),
    ...(await s3PreparedAttachments(s3, ContentBucketName).writeAddresses(stored)),
  };
  const { workspaceId, name, contentType } = stored;
  return { uuid, workspaceId, name, contentType, addresses };
}

interface SentEntry {
  MessageBody: string;
  MessageGroupId: string;
  DelaySeconds: number;
}

describe('what the code of today sends', () => {
  it('has all that an earlier worker and an earlier workflow read', async () => {
    const aws = await startDynamoProxy();
    const calls: { target: string; body: Record<string, unknown> }[] = [];
    aws.handle = async ({ target, body }) => {
      calls.push({ target, body });
      return { status: 200, body: '{"Successful":[],"Failed":[],"executionArn":"arn","startDate":1}' };
    };
    const sender = batch(1, { total: 25 });
    const sqs = new SQSClient({ ...operatorAt(aws.url), useQueueUrlAsEndpoint: false });
    const queue = sqsBatchQueue(sqs, 'http://queue.example/1/q');
    await queue.send([{ workspaceId: sender.workspaceId, batchId: sender.id, slot: 1, epoch: 0 }], 4);
    const workflow = stepFunctionsBatchWorkflow(
      new SFNClient(operatorAt(aws.url)),
      () => 'arn:aws:states:us-east-1:000000000000:stateMachine:Machine',
    );
    await workflow.start(sender);
    await workflow.completeTaskCallback('token');
    await aws.close();
    const [sent, started, completed] = calls;
    const [entry] = (sent?.body.Entries ?? []) as SentEntry[];
    const [message] = frozen.queue;
    expect(missingFields(JSON.parse(entry?.MessageBody ?? ''), message?.body)).toEqual([]);
    expect(entry).toMatchObject({ MessageGroupId: sender.workspaceId, DelaySeconds: 4 });
    expect(started?.target).toBe('StartExecution');
    expect(started?.body.name).toBe(`${sender.id}-${sender.executionNumber}`);
    expect(missingFields(JSON.parse(String(started?.body.input)), ids)).toEqual([]);
    expect(completed).toMatchObject({
      target: 'SendTaskSuccess',
      body: { output: JSON.stringify(frozen.workflow.taskOutput) },
    });
  });
});

describe('a kept answer of the authorizer', () => {
  /** Reads a batch that does not exist: an accepted request gets 404. */
  const request = async (name: string, changes: Record<string, string> = {}) => {
    const stored = frozen.authorizer[name] ?? expect.unreachable(name);
    const { context } = stored.answer as unknown as APIGatewayAuthorizerResult;
    const path = `/v1/batches/${identifiers.uuid()}`;
    const response = (await invoke('GetBatch', {
      ...{ resource: '/v1/batches/{batch_id}', path, httpMethod: 'GET', headers: {}, body: null },
      ...{ queryStringParameters: null, multiValueQueryStringParameters: null },
      pathParameters: { batch_id: path.split('/').at(-1) },
      requestContext: {
        ...{ requestId: 'request', domainName: 'localhost', stage: 'api', path: `/api${path}` },
        authorizer: { ...context, workspaceId: tenant.workspaceId, apiKeyId: tenant.apiKeyId, ...changes },
      },
    })) as APIGatewayProxyResult;
    return { ...response, body: JSON.parse(response.body) as { error_code: number } };
  };
  const accepted = { statusCode: 404, body: { error_code: 10003 } };

  it('lets its key in as it said', async () => {
    expect(await request('without limits')).toMatchObject(accepted);
    expect(await request('limited')).toMatchObject({ ...accepted, headers: { 'x-ratelimit-limit': '40' } });
    const future = { apiKeyExpiresAt: new Date(Date.now() + 60_000).toISOString() };
    expect(await request('expiring', future)).toMatchObject(accepted);
    const past = { apiKeyExpiresAt: new Date(Date.now() - 1).toISOString() };
    expect(await request('expiring', past)).toMatchObject({
      statusCode: 400,
      body: { error_code: 10001 },
    });
  });

  it('is given today with all that an earlier handler reads', async () => {
    const limited = await createTenant();
    await setLimits(limited.workspaceId, { sends: '7/m:9', uploads: 'none' });
    const disabled = await createTenant();
    await operator().workspaces.update(disabled.workspaceId, { enabled: false });
    const expiresAt = new Date(Date.now() + 60_000);
    const { workspaceId } = tenant;
    const expiring = await createApiKey(operator(), { workspaceId, name: 'Expires', expiresAt });
    const keysByCase: Record<string, string> = {
      'without limits': tenant.apiKey,
      expiring: expiring.apiKey,
      limited: limited.apiKey,
      'of a disabled workspace': disabled.apiKey,
    };
    expect(Object.keys(keysByCase)).toEqual(Object.keys(frozen.authorizer));
    for (const [name, { event, answer }] of Object.entries(frozen.authorizer)) {
      const now = await invoke('AuthorizeRequest', { ...event, headers: { 'x-api-key': keysByCase[name] } });
      expect(missingFields(now, answer, name)).toEqual([]);
      const { policyDocument } = answer as unknown as APIGatewayAuthorizerResult;
      expect(now).toMatchObject({ policyDocument });
    }
  });
});
