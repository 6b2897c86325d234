import { createSocket } from 'node:dgram';
import { expect, it } from 'vitest';
import type { UploadedFile } from '#contract/message.ts';
import { systemTimer } from '#local/run-options.ts';
import { type MetricName, metrics, serviceDimension } from '#runtime/observability/metric-names.ts';
import { waitForBatchEnd } from '#support/batches.ts';
import { clientOf } from '#support/client.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { type MetricLine, readMetricLine } from '#support/metric-lines.ts';
import { type ModelCall, replyWith } from '#support/model-server.ts';
import { dataOf, openTenant, summaryOf } from '#support/open-tenant.ts';
import { openAiRequests } from '#support/openai-requests.ts';
import { createPublishedAgent } from '#support/service.ts';
import { createChat, send } from '#support/turns.ts';
import { uploaderOf } from '#support/upload.ts';
import { useScriptedService } from '#support/use-service.ts';
import { openWebhookTenant } from '#support/webhook-batches.ts';
import { startWebhookReceiver, status } from '#support/webhook-receiver.ts';

/** The trace id that Lambda gives to a traced invocation. */
const root = '1-5759e988-bd862e3fe1be46a994272793';
const traces: string[] = [];
const logged: { functionName: string; line: string }[] = [];

const receiver = closeAfterTests(await startWebhookReceiver(status(500), status(200)));
const daemon = createSocket('udp4').on('message', (message) => traces.push(message.toString()));
await new Promise<void>((listening) => daemon.bind(0, '127.0.0.1', listening));
closeAfterTests(daemon);
const { model, service } = await useScriptedService({
  variables: {
    WEBHOOK_RETRY_SECONDS: '0.1,2',
    AWS_XRAY_DAEMON_ADDRESS: `127.0.0.1:${daemon.address().port}`,
    _X_AMZN_TRACE_ID: `Root=${root};Parent=53995c3f42cd8ad8;Sampled=1`,
  },
  maxConcurrency: 2,
  timer: systemTimer,
  onLog: (entry) => logged.push(entry),
});
const tenant = await openWebhookTenant(service, {
  model: 'openai:test',
  titles: false,
  agent: { system_prompt: 'canary-prompt' },
});

const linesRead = (): MetricLine[] =>
  logged.flatMap(({ functionName, line }) => readMetricLine(functionName, line) ?? []);

/** The emitted values of a metric, with each set of its dimensions. */
const shown = (name: MetricName): [dimensions: string, value: number | number[]][] =>
  linesRead().flatMap((line): [string, number | number[]][] => {
    const metric = line.metrics[metrics[name].name];
    if (metric === undefined) return [];
    expect(metric.unit).toBe(metrics[name].unit);
    return line.dimensions.map(({ service: stack, ...dimensions }) => {
      expect(stack).toBe(serviceDimension.service);
      return [Object.values(dimensions).join(' '), metric.value];
    });
  });

const sumOf = (name: MetricName, dimensions: string): number =>
  shown(name)
    .filter(([found]) => found === dimensions)
    .flatMap(([, value]) => value)
    .reduce((sum, value) => sum + value, 0);

/** A request's log lines arrive shortly after its response. */
const requestsCounted = (route: string): Promise<void> => {
  const before = sumOf('requests', route);
  return expect.poll(() => sumOf('requests', route)).toBeGreaterThan(before);
};

it('counts requests by route, errors by route and by code, in the namespace of the stack', async () => {
  const counted = requestsCounted('list-chats');
  const { headers } = await tenant.client.get('/chats');
  await counted;
  const found = linesRead().filter(({ properties }) => properties.request_id === headers.get('x-request-id'));
  expect(found).toMatchObject([
    {
      namespace: 'agent-service-local',
      metrics: { [metrics.requests.name]: { unit: 'Count', value: 1 } },
      properties: { workspace_id: tenant.workspaceId },
    },
  ]);
  const rejected = requestsCounted('list-chats');
  await tenant.client.get('/chats?limit=many');
  await rejected;
  await expect.poll(() => sumOf('errors', '10006')).toBe(1);
  expect(sumOf('errors', 'list-chats')).toBe(1);
  expect(sumOf('requests', 'list-chats')).toBe(2);
});

it('tells what turns, uploads, batches and webhooks take and cost, and no text, key or secret of them', async () => {
  let calls = 0;
  model.onCall = (call) => {
    calls += 1;
    if (calls === 1) return call.fail(429, { 'retry-after-ms': '5' });
    if (call.request.messages.at(-1)?.content.endsWith('refused')) return call.fail(400);
    replyWith(call, 'canary-reply', { prompt_tokens: 10, completion_tokens: 2 });
  };
  const { client } = tenant;
  const chat = await createChat(client, tenant, { name: 'canary-name' });
  await (await client.stream(chat, { message: 'canary-message', agent_id: tenant.agentId })).all();
  expect((await send(client, tenant, chat, 'canary-refused')).status).toBe(500);
  const seeker = await createPublishedAgent(tenant.workspaceId, {
    unified_tools: [{ type: 'consultant_lookup' }],
  });
  const sending = await createChat(client, { agentId: seeker });
  const search = 'consultant_lookup {"query":"canary-query"}';
  expect((await send(client, { agentId: seeker }, sending, search)).status).toBe(200);
  const file = await uploaderOf(service, tenant).file('canary-file.txt', 'canary-content');
  const { uuid } = dataOf(file) as UploadedFile;
  await send(client, tenant, chat, 'canary-attached', { attached_file_uuids: [uuid] });
  const webhook = { url: `${receiver.url}?canary-query`, secret: 'canary-secret' };
  const batch = await tenant.create(webhook, 'canary-request');
  await waitForBatchEnd(client, batch.id);
  expect(await tenant.closed(batch)).toMatchObject({ state: 'delivered', attempts: 2 });
  expect(summaryOf(await clientOf(service, { apiKey: 'ak_canary' }).get('/chats'))).toContain('400/10001');
  await client.post('/chats', { name: 'canary-chat', agent_id: 'canary-agent' });

  const expected: [name: MetricName, dimensions: string, sum: number][] = [
    ['requests', 'send-message', 4],
    ['errors', '10005', 1],
    ['failedReplies', 'send-message', 1],
    ['modelErrorResponses', '', 1],
    ['modelCalls', 'openai:test', 3],
    ['promptTokens', 'openai:test', 30],
    ['completionTokens', 'openai:test', 6],
    ['modelRetries', 'throttled', 1],
    ['modelRetries', 'openai:test', 1],
    ['modelFailures', 'refused', 1],
    ['steps', 'consultant_lookup', 1],
    ['failedSteps', 'consultant_lookup', 0],
    ['uploadedBytes', 'upload-file', 'canary-content'.length],
    ['batchRequestsDone', '', 1],
    ['batchRequestsFailed', '', 0],
    ['webhookAttempts', 'refused', 1],
    ['webhookAttempts', 'delivered', 1],
    ['rejectedKeys', 'unknown', 1],
  ];
  await expect.poll(() => expected.map(([name, of]) => [name, of, sumOf(name, of)])).toEqual(expected);
  await expect.poll(() => shown('batchAge').map(([ended]) => ended)).toEqual(['completed']);
  expect(shown('lostUsage')).toEqual([]);
  const times = (name: MetricName) => shown(name).flatMap(([, value]) => value);
  // The failed turn has no delta.
  expect(times('timeToFirstDelta')).toHaveLength(3);
  expect(times('replyTime')).toHaveLength(4);
  expect(times('replyTime').every((time) => time >= 0)).toBe(true);

  expect(logged.length).toBeGreaterThan(20);
  for (const { functionName, line } of logged) {
    expect(line).not.toContain('canary');
    expect(line).not.toContain(tenant.apiKey);
    expect(line, functionName).toMatch(/^\{.*\}$/);
    const fields = JSON.parse(line) as Record<string, unknown>;
    if (fields._aws !== undefined) continue;
    expect(fields).toMatchObject({
      service: serviceDimension.service,
      request_id: expect.any(String),
      function_name: expect.any(String),
      cold_start: expect.any(Boolean),
      xray_trace_id: root,
    });
  }
  const read = traces.map((text) => JSON.parse(text.split('\n')[1] ?? '') as Record<string, unknown>);
  const ofRequest = { request_id: expect.any(String), workspace_id: tenant.workspaceId };
  for (const name of ['create-batch', 'invocation'])
    expect(read).toContainEqual(expect.objectContaining({ name, trace_id: root }));
  // X-Ray does not trace web functions: their log has the parts of a request.
  const logTraces = logged
    .map(({ line }) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ message }) => message === 'Trace');
  const faults = logTraces.filter(({ outcome }) => outcome === 'fault');
  expect(faults).toHaveLength(1);
  expect(faults[0]).toMatchObject({ ...ofRequest, chat_id: `${chat}`, milliseconds: expect.any(Number) });
  expect(faults[0]?.parts).toEqual([expect.objectContaining({ name: 'reply' })]);
  expect(read).toContainEqual(
    expect.objectContaining({ annotations: expect.objectContaining({ batch_id: batch.id }) }),
  );
  expect(read.filter(({ fault }) => fault === true)).toEqual([]);
  // A page that is wrong, and the unknown key, which the authorizer has rejected.
  const failed = read.filter(({ error }) => error === true).map(({ name }) => name);
  expect(failed).toEqual(['list-chats', 'invocation']);
  expect(traces.join()).not.toContain('canary');
  // Failures were logged too, but without the texts of messages.
  expect(logged.filter(({ line }) => line.includes('A reply was not completed'))).toHaveLength(1);
  expect(logged.filter(({ line }) => line.includes('A webhook was called'))).toHaveLength(2);
});

it('counts the 5xx that models cause, of both routes of replies, but no stream and no 4xx', async () => {
  const before = sumOf('modelErrorResponses', '');
  const other = await openTenant(service, { openai: true, model: 'openai:test', titles: false });
  const complete = async (reject: (call: ModelCall) => void, body = {}) => {
    model.onCall = reject;
    return (await openAiRequests(service, other).send(body)).status;
  };
  // A response that ends too early.
  expect(await complete((call) => call.end())).toBe(500);
  await expect.poll(() => sumOf('modelErrorResponses', '')).toBe(before + 1);
  // A stream that has not begun has the status of its failure.
  expect(await complete((call) => call.end(), { stream: true })).toBe(500);
  await expect.poll(() => sumOf('modelErrorResponses', '')).toBe(before + 2);
  expect(await complete((call) => call.fail(400))).toBe(400);
  const chat = await createChat(other.client, other);
  await (await other.client.stream(chat, { message: 'Hello', agent_id: other.agentId })).all();
  await expect.poll(() => sumOf('failedReplies', 'send-message')).toBe(2);
  expect(sumOf('modelErrorResponses', '')).toBe(before + 2);
});

it('counts the streams that a fault of the service fails, and no stream that a model fails', async () => {
  // No provider has this name, which agentctl would reject.
  const broken = await openTenant(service, { openai: true, model: 'nowhere:at-all', titles: false });
  const before = sumOf('streamedFaults', '');
  const byModels = sumOf('modelErrorResponses', '');
  const chat = await createChat(broken.client, broken);
  expect((await send(broken.client, broken, chat, 'Hello')).status).toBe(500);
  await (await broken.client.stream(chat, { message: 'Hello', agent_id: broken.agentId })).all();
  await expect.poll(() => sumOf('streamedFaults', '')).toBe(before + 1);
  // The gateway counts this one by its status.
  expect((await openAiRequests(service, broken).send({ stream: true })).status).toBe(500);
  model.onCall = (call) => call.fail(400);
  const failures = sumOf('failedReplies', 'send-message');
  const other = await createChat(tenant.client, tenant);
  await (await tenant.client.stream(other, { message: 'Hello', agent_id: tenant.agentId })).all();
  await expect.poll(() => sumOf('failedReplies', 'send-message')).toBe(failures + 1);
  expect(sumOf('streamedFaults', '')).toBe(before + 1);
  expect(sumOf('modelErrorResponses', '')).toBe(byModels);
});

it('tells at every run of the reconciler how many batches are open long after their time, and how long requests wait', async () => {
  await expect.poll(() => shown('overdueBatches')).toContainEqual(['', 0]);
  expect(shown('oldestRequestWait').flatMap(([, value]) => value)).toContain(0);
});
