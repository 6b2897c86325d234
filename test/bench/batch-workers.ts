import { setTimeout as after } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { parseLimits } from '#contract/rate-limits.ts';
import { advanceBatch, dispatchBatch } from '#domain/batches/advance-batch.ts';
import type { Batch } from '#domain/batches/batch.ts';
import type { BatchQueue, BatchWorkflow } from '#domain/batches/batch-store.ts';
import { createBatch } from '#domain/batches/create-batch.ts';
import { workOnSlot } from '#domain/batches/worker.ts';
import type { AgentRuntime } from '#domain/chats/agent-runtime.ts';
import {
  agents,
  batches,
  chats,
  fileIndex,
  idempotency,
  lazySecretCipher,
  messages,
  rateLimits,
  replyEvents,
  usage,
  lazyWebhookSender as webhookSender,
  workspaces,
} from '#runtime/composition/services.ts';
import { clock, identifiers } from '#runtime/environment/invocation-context.ts';
import { variables } from '#runtime/environment/variables.ts';
import { log } from '#runtime/observability/log.ts';
import { meter } from '#runtime/observability/meter.ts';
import { usageOfCall } from '#support/scripted-runtime.ts';
import type { Tenant } from '#support/service.ts';
import type { WorkerData } from './batch-requests.ts';

/** What batch-requests.ts gives: its options, and a workspace for the warm-up and one for the measurement. */
const { options, warm, measured } = workerData as WorkerData;
process.env[variables.usageDays] = '400';
const requestsPerBatch = 1000;
/** Of a reply. */
const milliseconds = 50 * options.slower;

const limits = 'reads=none,writes=none,sends=none,uploads=none,batches=none,open-batches=none';

const agentRuntime: AgentRuntime = {
  async reply({ signal }, forwardTo) {
    const call = { model: 'openai:scripted', callType: 'chat' } as const;
    forwardTo({ type: 'call start', call });
    await after(milliseconds, undefined, { signal });
    forwardTo({ type: 'response.output_text.delta', delta: 'A short reply' });
    forwardTo({ type: 'call end', call, usage: usageOfCall });
    return { reason: 'stop', cutShort: null, incomplete: null };
  },
  title: async () => undefined,
};

const work = new Set<Promise<void>>();
/** Gives each message to a worker of its own, at once. */
const batchQueue: BatchQueue = {
  async send(bodies) {
    for (const body of bodies) {
      const done = workOnSlot(services, body).then(() => {
        work.delete(done);
      });
      work.add(done);
    }
  },
  isFilled: async () => false,
};
const batchWorkflow: BatchWorkflow = {
  start: async () => undefined,
  stateOf: async () => 'running',
  completeTaskCallback: async () => true,
};
const services = {
  ...{
    agentRuntime,
    batchQueue,
    batchWorkflow,
    clock,
    random: Math.random,
    identifiers,
    log,
    meter,
    webhookSender,
  },
  ...{ agents: agents(), batches: batches(), chats: chats(), fileIndex: fileIndex() },
  ...{
    idempotency: idempotency(),
    messages: messages(),
    replyEvents: replyEvents(),
    rateLimits: rateLimits(),
    stageLimits: parseLimits(limits),
    usage: usage(),
    workspaces: workspaces(),
  },
  secretCipher: lazySecretCipher,
  batchSettings: { timeout: 86_400_000, item: 240_000 },
  queueSettings: { workspaceSlots: options.workers, requestsPerWorker: options.width },
  replySettings: {
    ...{ streamTimeout: 90_000, lease: 30_000, historyCharacters: 60_000, attachedFiles: 2 },
    limits: { modelCalls: 8, toolUses: 8, toolsAtOnce: 4, replyBytes: 1_000_000 },
  },
};

async function submit({ workspaceId, agentId, apiKeyId }: Tenant): Promise<Batch> {
  const requests = Array.from({ length: requestsPerBatch }, (_, index) => ({
    ...{ custom_id: `request-${index}`, message: `Question ${index}`, attached_file_uuids: [] },
  }));
  const body = { agent_id: agentId, requests };
  const { batch } = await createBatch(
    services,
    { workspaceId, apiKeyId, body },
    { key: null, mostOpen: null, takeTokens: async () => {} },
  );
  return batch;
}

const submitAll = (tenant: Tenant, count: number): Promise<Batch[]> =>
  Promise.all(Array.from({ length: count }, () => submit(tenant)));

/** Processes all requests. */
async function run(submitted: readonly Batch[]): Promise<void> {
  await Promise.all(
    submitted.map(({ workspaceId, id: batchId }) =>
      dispatchBatch(services, {
        ...{ workspaceId, batchId, taskToken: batchId, enteredAt: new Date().toISOString() },
      }),
    ),
  );
  while (work.size > 0) await Promise.all(work);
}

await run(await submitAll(warm, 1));
const submitted = await submitAll(measured, options.batches);
parentPort?.postMessage('start');
const start = performance.now();
await run(submitted);
parentPort?.postMessage((performance.now() - start) / 1000);
for (const { workspaceId, id: batchId } of submitted) {
  const { batch } = await advanceBatch(services, { workspaceId, batchId });
  if (batch?.completed !== requestsPerBatch) throw new Error(`Only ${batch?.completed} requests succeeded`);
}
