import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SQSEvent } from 'aws-lambda';
import type { Webhook } from '#domain/webhooks/webhook.ts';
import { createApiKey } from '#domain/workspaces/api-keys.ts';
import { type RunningTemplate, runTemplate } from '#local/run-template.ts';
import { synthesize } from '../../../bin/local/synthesize.ts';
import { useLocalTable } from '../../../bin/operator.ts';
import { requestsOf, submit, waitForBatchEnd } from '../batches.ts';
import { type Client, clientOf } from '../client.ts';
import { type DynamoProxy, startDynamoProxy } from '../dynamo-proxy.ts';
import { replyWith } from '../model-server.ts';
import { dataOf } from '../open-tenant.ts';
import { type ModelCall, startScriptedModel } from '../scripted-model.ts';
import { createTenant, operator, setLimits, type Tenant } from '../service.ts';
import { createChat } from '../turns.ts';
import { uploaderOf } from '../upload.ts';
import { startWebhookReceiver, status, type WebhookReceiver } from '../webhook-receiver.ts';
import { attachmentInput } from './attachment-input.ts';
import { type Invoke, invokerOf } from './invoke-function.ts';
import type { FrozenMessage, FrozenMessages } from './read-frozen.ts';
import { type FrozenDefinition, runDefinition } from './run-definition.ts';
import { createUnstarted, untilProcessed } from './unstarted-batch.ts';

interface World {
  run: RunningTemplate;
  tenant: Tenant;
  client: Client;
  invoke: Invoke;
  receiver: WebhookReceiver;
  /** How the model responds to a message, by its text; other messages get a reply at once. */
  calls: Map<string, (call: ModelCall) => void>;
  sent: FrozenMessage[];
}

/** Runs the service and records what its processes send to each other. */
export async function freezeMessages(commit: string): Promise<FrozenMessages> {
  const folder = await mkdtemp(join(tmpdir(), 'frozen-messages-'));
  const assembly = join(folder, 'assembly');
  await synthesize(assembly, {});
  const [model, receiver, queue] = await Promise.all([
    startScriptedModel(),
    startWebhookReceiver(status(500), status(200)),
    startDynamoProxy(),
  ]);
  const calls: World['calls'] = new Map();
  model.onCall = (call) => {
    const message = String(call.request.messages.at(-1)?.content);
    const respond = calls.get(message) ?? respondAtOnce;
    respond(call);
  };
  const sent = recordMessages(queue);
  const run = await runTemplate({
    assembly,
    dataDir: join(folder, 'data'),
    port: 0,
    redeliverySeconds: 5,
    environment: {
      OPENAI_BASE_URL: model.url,
      AWS_ENDPOINT_URL_SQS: queue.url,
      // So the reconciler's next run finds the slot of a killed worker silent.
      LEASE_SECONDS: '3',
      WEBHOOK_RETRY_SECONDS: '1,1,1',
    },
    onDenied: (message) => console.error(`Access denied. ${message}`),
  });
  queue.emulator = run.endpoints.sqs;
  useLocalTable(run.outputs.DataTableName ?? '', run.endpoints.dynamodb);
  const tenant = await createTenant({ model: 'openai:test', titles: false });
  const client = clientOf({ baseUrl: `${run.url}/v1` }, tenant);
  const { invoke, close } = invokerOf(run);
  const world: World = { run, tenant, client, invoke, receiver, calls, sent };
  try {
    await sendMessages(world);
    return {
      commit,
      workspaceId: tenant.workspaceId,
      queue: oneOfEachShape(sent),
      event: eventOf(sent),
      workflow: await recordWorkflow(world, assembly),
      authorizer: await recordAuthorizer(world),
      attachment: await recordAttachment(world),
      webhook: webhookOf(receiver),
    };
  } finally {
    close();
    await run.close();
    await Promise.all([model.close(), receiver.close(), queue.close()]);
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

const respondAtOnce = (call: ModelCall): void => replyWith(call, 'Done');

interface SentEntry {
  MessageBody: string;
  MessageGroupId: string;
  DelaySeconds?: number;
}

function recordMessages(queue: DynamoProxy): FrozenMessage[] {
  const sent: FrozenMessage[] = [];
  queue.handle = (call, pass) => {
    if (call.target === 'SendMessageBatch')
      for (const { MessageBody, MessageGroupId, DelaySeconds = 0 } of call.body.Entries as SentEntry[])
        sent.push({
          sender: /-(\w+?)[0-9A-F]{8}/.exec(call.functionName)?.[1] ?? call.functionName,
          body: JSON.parse(MessageBody) as FrozenMessage['body'],
          group: MessageGroupId,
          delaySeconds: DelaySeconds,
        });
    return pass();
  };
  return sent;
}

const shapeOf = ({ sender, delaySeconds }: FrozenMessage): string =>
  JSON.stringify([sender, delaySeconds > 0]);

const oneOfEachShape = (sent: readonly FrozenMessage[]): FrozenMessage[] =>
  [...Map.groupBy(sent, shapeOf).values()].flatMap(([first]) => first ?? []);

/** Makes the service send messages for every reason that it can have. */
async function sendMessages({ run, tenant, client, calls, sent }: World): Promise<void> {
  const chatId = await createChat(client, tenant, { name: 'Continued' });
  // Throttles the request until its worker has passed on the slot, with a delay.
  calls.set('Busy', (call) =>
    sent.some(({ delaySeconds }) => delaySeconds > 0) ? respondAtOnce(call) : call.fail(429),
  );
  const requests = requestsOf(12, (index) => ({
    ...(index === 3 && { message: 'Busy' }),
    ...(index >= 5 && index <= 6 && { history_id: chatId }),
  }));
  const { id } = await submit(client, tenant, requests);
  await waitForBatchEnd(client, id, 120);

  // A worker that is killed while it runs three requests.
  const runningCalls: ModelCall[] = [];
  let hasDied = false;
  const allRunning = Promise.withResolvers<void>();
  for (const name of ['Hold 0', 'Hold 1', 'Hold 2'])
    calls.set(name, (call) => {
      if (hasDied) return respondAtOnce(call);
      runningCalls.push(call);
      if (runningCalls.length === 3) allRunning.resolve();
    });
  const silent = requestsOf(3, (index) => ({ message: `Hold ${index}` }));
  const interrupted = await submit(client, tenant, silent);
  await allRunning.promise;
  hasDied = true;
  run.killWorkers('ProcessBatchItems');
  await waitForBatchEnd(client, interrupted.id, 120);
}

function eventOf([message]: readonly FrozenMessage[]): SQSEvent {
  if (message === undefined) throw new Error('Nothing was sent');
  return {
    Records: [
      {
        messageId: '00000000-0000-4000-8000-000000000001',
        receiptHandle: 'receipt',
        body: JSON.stringify(message.body),
        attributes: {
          ApproximateReceiveCount: '1',
          SentTimestamp: '1795348800000',
          SenderId: 'sender',
          ApproximateFirstReceiveTimestamp: '1795348800001',
          MessageGroupId: message.group,
        },
        messageAttributes: {},
        md5OfBody: '',
        eventSource: 'aws:sqs',
        eventSourceARN: 'arn:aws:sqs:us-east-1:000000000000:Requests',
        awsRegion: 'us-east-1',
      },
    ],
  };
}

/** Runs the workflow of a batch that has no other execution. */
async function recordWorkflow(
  { tenant, client, invoke, receiver }: World,
  assembly: string,
): Promise<FrozenMessages['workflow']> {
  const definition = await readDefinition(assembly);
  const webhook: Webhook = { url: receiver.url, events: ['completed', 'failed'], secret: null };
  const carried = await createUnstarted(tenant, webhook);
  const input = { workspaceId: tenant.workspaceId, batchId: carried.id };
  const { runs, output } = await runDefinition(definition, {
    input,
    taskToken: 'token-of-the-task',
    invoke,
    awaitTask: () => untilProcessed(carried),
  });
  await waitForBatchEnd(client, carried.id, 10);

  // The outputs for a batch that is still open, and for one that fails.
  const open = await createUnstarted(tenant, webhook);
  const others: FrozenMessages['workflow']['states'] = [];
  const call = async (state: string, functionName: string): Promise<void> => {
    const payload = { workspaceId: tenant.workspaceId, batchId: open.id };
    others.push({ state, functionName, input: payload, output: await invoke(functionName, payload) });
  };
  await call('See what has become of the batch', 'AdvanceBatch');
  await call('Fail what is left of the batch', 'FailBatch');
  return {
    definition,
    execution: { name: `${carried.id}-${carried.executionNumber}`, input, output },
    states: [...runs, ...others],
    taskOutput: {},
  };
}

/** The workflow's definition, with the names of the functions' constructs instead of their ARNs. */
async function readDefinition(assembly: string): Promise<FrozenDefinition> {
  const [file = ''] = (await readdir(assembly)).filter((name) => name.endsWith('.template.json'));
  const { Resources } = JSON.parse(await readFile(join(assembly, file), 'utf8')) as {
    Resources: Record<string, { Type: string; Properties: { DefinitionString?: unknown } }>;
  };
  const [machine] = Object.values(Resources).filter(
    ({ Type }) => Type === 'AWS::StepFunctions::StateMachine',
  );
  const joined = machine?.Properties.DefinitionString as { 'Fn::Join': [string, unknown[]] };
  const text = joined['Fn::Join'][1].map((part) => (typeof part === 'string' ? part : nameOf(part))).join('');
  // The definition calls functions by their alias.
  return JSON.parse(text.replaceAll(':live"', '"')) as FrozenDefinition;
}

function nameOf(reference: unknown): string {
  const { Ref, 'Fn::GetAtt': [id] = [Ref ?? ''] } = reference as {
    Ref?: string;
    'Fn::GetAtt'?: [string, string];
  };
  if (Ref === 'AWS::Partition') return 'aws';
  return /^(DispatchBatch|AdvanceBatch|FailBatch|DeliverWebhook)/.exec(id)?.[1] ?? `unknown ${id}`;
}

async function recordAuthorizer({ tenant, invoke }: World): Promise<FrozenMessages['authorizer']> {
  const { workspaceId } = tenant;
  const expiring = await createApiKey(operator(), {
    workspaceId,
    name: 'Expires',
    expiresAt: new Date(Date.now() + 3_600_000),
  });
  const limited = await createTenant();
  await setLimits(limited.workspaceId, { sends: '7/m:9', uploads: 'none' });
  const disabled = await createTenant();
  await operator().workspaces.update(disabled.workspaceId, { enabled: false });
  const keysByCase = {
    'without limits': tenant.apiKey,
    expiring: expiring.apiKey,
    limited: limited.apiKey,
    'of a disabled workspace': disabled.apiKey,
  };
  const recorded: FrozenMessages['authorizer'] = {};
  for (const [name, apiKey] of Object.entries(keysByCase)) {
    const event = {
      type: 'REQUEST',
      methodArn: 'arn:aws:execute-api:us-east-1:000000000000:api/api/GET/v1/chats',
      resource: '/v1/chats',
      path: '/v1/chats',
      httpMethod: 'GET',
      headers: { 'x-api-key': apiKey },
      queryStringParameters: null,
      pathParameters: null,
      requestContext: {
        requestId: 'request',
        identity: { sourceIp: '127.0.0.1' },
        resourcePath: '/v1/chats',
      },
    };
    const response = (await invoke('AuthorizeRequest', event)) as Record<string, unknown>;
    recorded[name] = { event, answer: response };
  }
  return recorded;
}

async function recordAttachment({ run, tenant, invoke }: World): Promise<FrozenMessages['attachment']> {
  const { file } = uploaderOf({ baseUrl: `${run.url}/v1` }, tenant);
  const { uuid } = dataOf(await file('notes.txt', 'The bridge was built in 1932.')) as { uuid: string };
  const input = await attachmentInput(run, tenant.workspaceId, uuid);
  return { input, output: await invoke('PrepareAttachment', input) };
}

function webhookOf({ calls }: WebhookReceiver): FrozenMessages['webhook'] {
  const call = calls.at(-1);
  if (call === undefined) throw new Error('The receiver was not called');
  const own = Object.entries(call.headers).filter(
    ([name]) => /^(x-service|webhook)-/.test(name) || name === 'content-type' || name === 'user-agent',
  );
  return { headers: Object.fromEntries(own), body: JSON.parse(call.body) as Record<string, unknown> };
}
