import type { BatchResultResource, ModelCallResource } from '#contract/batch.ts';
import type { BatchResultStatus } from '#contract/batch-statuses.ts';
import { ServiceError } from '#contract/errors.ts';
import type { ListPage } from '#contract/pagination.ts';
import { messageId } from '#domain/chats/message.ts';
import { type CountedCall, groupsOf } from '#domain/platform/services.ts';
import type { DeliveryOwner, WebhookDelivery } from '#domain/webhooks/webhook.ts';
import type { AwaitRateLimit } from '#domain/workspaces/rate-limits.ts';
import { type Batch, isOpen, type Outcome, outcomeOf, type StoredRequest, successorsIn } from './batch.ts';
import type { Services } from './batch-store.ts';
import { completeTaskCallback } from './slots.ts';

/** @throws notFound `Batch not found` */
export async function findBatch(
  services: Services<'batches'>,
  workspaceId: string,
  batchId: string,
): Promise<Batch> {
  const batch = await services.batches.get(workspaceId, batchId);
  if (batch === undefined) throw new ServiceError('notFound', 'Batch not found');
  return batch;
}

/** Number of batches that are counted concurrently. Each needs up to ten queries at once. */
const batchesAtOnce = 8;

export async function readRequests({ batches }: Services<'batches'>, batch: Batch): Promise<StoredRequest[]> {
  const [manifest, items] = await Promise.all([batches.manifest(batch), batches.allItems(batch)]);
  const itemAt = new Map(items.map((item) => [item.requestIndex, item]));
  const successors = successorsIn(manifest);
  return manifest.map((entry, requestIndex) => ({
    ...{ requestIndex, entry, item: itemAt.get(requestIndex) },
    isSuccessor: successors.has(requestIndex),
  }));
}

/** A later read of the results shows at least as many ended requests. */
export async function countBatch(services: Services<'batches'>, batch: Batch): Promise<Batch> {
  if (!isOpen(batch) || (batch.next === 0 && batch.stop === null)) return batch;
  // The manifest of a batch that is not stopped is not needed: only items say what has ended.
  const statuses =
    batch.stop === null
      ? (await services.batches.allItems(batch)).map(({ status }) => status)
      : (await readRequests(services, batch)).map((request) => outcomeOf(batch, request).status);
  const countOf = (wanted: BatchResultStatus): number => statuses.filter((each) => each === wanted).length;
  return { ...batch, completed: countOf('success'), failed: countOf('failed') };
}

export async function countBatches(
  services: Services<'batches'>,
  batches: readonly Batch[],
): Promise<Batch[]> {
  const counted: Batch[] = [];
  for (const group of groupsOf(batches, batchesAtOnce))
    counted.push(...(await Promise.all(group.map((batch) => countBatch(services, batch)))));
  return counted;
}

/** Number of replies that are read at once. They may be long. */
const repliesAtOnce = 50;

/**
 * One page, in input order. `pages` are its parts, whose replies are read during the iteration.
 * @throws notFound `Batch not found`
 */
export async function listBatchResults(
  services: Services<'batches' | 'messages'>,
  input: DeliveryOwner & Pick<ListPage, 'limit' | 'offset'> & { status?: BatchResultStatus | undefined },
): Promise<{ total: number; pages: AsyncIterable<BatchResultResource[]> }> {
  const batch = await findBatch(services, input.workspaceId, input.batchId);
  const all = (await readRequests(services, batch))
    .map((request) => ({ ...request, outcome: outcomeOf(batch, request) }))
    .filter(({ outcome: { status } }) => input.status === undefined || status === input.status);
  const page = all.slice(input.offset, input.offset + input.limit);
  async function* results(): AsyncGenerator<BatchResultResource[]> {
    for (const group of groupsOf(page, repliesAtOnce))
      yield await Promise.all(group.map((each) => resultOf(services, batch, each)));
  }
  return { total: all.length, pages: results() };
}

async function resultOf(
  services: Services<'messages'>,
  batch: Batch,
  { entry: { customId, historyId }, item, outcome }: StoredRequest & { outcome: Outcome },
): Promise<BatchResultResource> {
  const { status, error, processedAt } = outcome;
  const chatId = item?.chatId ?? historyId;
  const reply = item?.messagePosition == null ? null : item.messagePosition + 1;
  const hasResponse = status === 'success' && chatId !== null && reply !== null;
  return {
    custom_id: customId,
    status,
    response_content: hasResponse
      ? ((await services.messages.contentAt(batch.workspaceId, chatId, reply)) ?? null)
      : null,
    response_usage: status === 'success' ? usageOf(item?.calls ?? []) : null,
    incomplete: status === 'success' ? (item?.incomplete ?? null) : null,
    error_code: error?.code ?? null,
    error_message: error?.message ?? null,
    history_id: chatId,
    conversation_id: chatId,
    message_id: hasResponse ? messageId(chatId, reply) : null,
    processed_at: processedAt,
  };
}

function usageOf(counted: readonly CountedCall[]): NonNullable<BatchResultResource['response_usage']> {
  const calls = counted.map(
    ([model, call_type, prompt_tokens, completion_tokens, cached_prompt_tokens = 0]): ModelCallResource => ({
      model,
      call_type,
      total_tokens: prompt_tokens + completion_tokens,
      prompt_tokens,
      completion_tokens,
      cached_prompt_tokens,
    }),
  );
  const sum = (field: keyof ModelCallResource & `${string}tokens`): number =>
    calls.reduce((total, call) => total + call[field], 0);
  const main = calls.findLast(({ call_type }) => call_type === 'chat') ?? null;
  return {
    tool_calls: calls.filter((call) => call !== main),
    total_calls: calls.length,
    total_tokens: sum('total_tokens'),
    total_prompt_tokens: sum('prompt_tokens'),
    total_completion_tokens: sum('completion_tokens'),
    cached_prompt_tokens: sum('cached_prompt_tokens'),
    main_response: main,
  };
}

/**
 * Running requests continue (specification, section 3.1).
 * @throws notFound `Batch not found`, then rateLimited, then badRequest if the batch is not in progress
 */
export async function cancelBatch(
  services: Services<'batchWorkflow' | 'batches' | 'clock' | 'log'>,
  workspaceId: string,
  batchId: string,
  awaitRateLimit: AwaitRateLimit,
): Promise<Batch> {
  const found = await findBatch(services, workspaceId, batchId);
  await awaitRateLimit();
  const stop = { reason: 'cancelled', at: services.clock.now().toISOString() } as const;
  const stopped = found.status === 'in_progress' ? await services.batches.stop(found, stop) : undefined;
  if (stopped === undefined) {
    const { status } = await findBatch(services, workspaceId, batchId);
    throw new ServiceError('badRequest', `Only a batch in progress can be cancelled; this one is ${status}`);
  }
  await completeTaskCallback(services, stopped).catch((error: unknown) =>
    // The stop is stored. The last worker to end, or the reconciler, completes the callback.
    services.log.warn('The workflow of a cancelled batch was not woken', { batchId, error }),
  );
  return countBatch(services, stopped);
}

/**
 * Starts to send the event of a batch once more, with the same event id. An execution that still waits for an earlier
 * attempt does no harm: it uses the same stored delivery, whose attempts start by a conditional write.
 * @throws Error if the batch has no delivery, or `restart` returns undefined
 */
export async function resendWebhook(
  services: Services<'batchWorkflow' | 'batches' | 'clock' | 'deliveries'>,
  owner: DeliveryOwner,
): Promise<WebhookDelivery> {
  const [batch, delivery] = await Promise.all([
    services.batches.get(owner.workspaceId, owner.batchId),
    services.deliveries.get(owner),
  ]);
  if (batch === undefined || delivery === undefined)
    throw new Error(
      `Nothing to send: batch ${owner.batchId} has not ended with an event that its webhook wants`,
    );
  const restarted = await services.deliveries.restart(delivery, services.clock.now().toISOString());
  if (restarted === undefined)
    throw new Error(`The event of batch ${owner.batchId} is being sent again already`);
  // If this fails, the reconciler finds the pending delivery and starts an execution.
  const incremented = await services.batches.incrementExecutionNumber(batch);
  if (incremented !== undefined) await services.batchWorkflow.start(incremented);
  return restarted;
}
