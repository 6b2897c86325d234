import { ServiceError } from '#contract/errors.ts';
import type { Tokens } from '#contract/rate-limits.ts';
import type { CreateBatchBody } from '#contract/routes/batches.ts';
import { requestedForm } from '#domain/chats/agent-runtime.ts';
import { isOpenTo } from '#domain/chats/chat.ts';
import { type IdempotencyKey, previousWork } from '#domain/platform/idempotency.ts';
import { allEnded } from '#domain/platform/promises.ts';
import { encryptedWebhook, rejectForbiddenWebhook } from '#domain/webhooks/deliver-webhook.ts';
import type { KeyOwner } from '#domain/workspaces/usage.ts';
import type { Batch, BatchRequest } from './batch.ts';
import type { Services } from './batch-store.ts';
import { type CheckServices, requestChecks } from './check-request.ts';

type CreateServices = CheckServices &
  Services<'batchSettings' | 'batchWorkflow' | 'batches' | 'idempotency' | 'identifiers' | 'log'> &
  Services<'replySettings' | 'secretCipher' | 'webhookSender'>;

type Checks = ReturnType<typeof requestChecks>;

interface CreateOptions {
  key: IdempotencyKey | null;
  /** Maximum of open batches of the workspace, this one included; null without a limit. */
  mostOpen: number | null;
  /** Called after the checks, and not for a repeated request whose batch was found before. */
  takeTokens: (tokens: Tokens) => Promise<void>;
}

const checksForBatch = 12;
const millisecondsBetweenChecks = 250;

/**
 * @returns `replayed`: whether another request with the idempotency key has created the batch
 * @throws badRequest, accessDenied, clientNotAllowed, notFound for a history, rateLimited. An error of one request
 *   names the request and the field
 */
export async function createBatch(
  services: CreateServices,
  { workspaceId, apiKeyId, body }: KeyOwner & { body: CreateBatchBody },
  { key, mostOpen, takeTokens }: CreateOptions,
): Promise<{ batch: Batch; replayed: boolean }> {
  const requests = requestsOf(body);
  rejectRepeatedIds(requests);
  const [stored, checks] = await Promise.all([
    key === null ? undefined : services.idempotency.find(key),
    checkUsers(services, workspaceId, requests),
  ]);
  const previous = previousWork(stored, key, 'batch');
  const made = previous && (await awaitBatch(services, workspaceId, previous.batchId));
  if (made !== undefined) return replayOf(made);

  // The reads run concurrently, and the first error in this order is reported.
  await allEnded([
    rejectAgents(checks, body, requests),
    rejectForeignHistories(services, workspaceId, requests),
    rejectUnknownFiles(services, checks, requests),
    rejectForbiddenWebhook(services, body),
    rejectOneTooMany(services, workspaceId, mostOpen),
  ]);
  // Each request pays for one model call. The worker charges further calls.
  await takeTokens({ batchRequests: requests.length, modelCalls: requests.length });
  const drawn = services.identifiers.uuid();
  const id = previous?.batchId ?? (await reserveId(services, key, drawn));
  if (previous === undefined && id !== drawn) {
    const meanwhile = await awaitBatch(services, workspaceId, id);
    if (meanwhile !== undefined) return replayOf(meanwhile);
  }
  const format = body.response_format?.type === 'text' ? undefined : body.response_format;
  const named = { ...newCounts, id, workspaceId, apiKeyId, ...(format && { hasFormat: true as const }) };
  const batch = newBatch(services, named, body);
  const webhook = await encryptedWebhook(services, body, { workspaceId, batchId: id });
  const outcome = await services.batches.create(batch, requests, webhook, mostOpen, format);
  // Concurrent requests may have passed the first check of the number of open batches.
  if (outcome === 'too-many') throw tooManyOpen(mostOpen as number);
  if (outcome === 'exists') return replayOf((await services.batches.get(workspaceId, id)) ?? batch);
  await services.batchWorkflow.start(batch).catch((error: unknown) =>
    // The batch is stored; the reconciler starts its execution.
    services.log.warn('The workflow of a batch was not started', { batchId: id, error }),
  );
  return { batch, replayed: false };
}

/** The response to a creation has these, even a replayed one after the batch has changed. */
const newCounts = {
  status: 'in_progress',
  completed: 0,
  failed: 0,
  completedAt: null,
  cancelledAt: null,
} as const;

function newBatch(
  services: CreateServices,
  named: Pick<Batch, 'id' | 'workspaceId' | 'apiKeyId' | 'hasFormat' | keyof typeof newCounts>,
  body: CreateBatchBody,
): Batch {
  const now = services.clock.now();
  return {
    ...named,
    agentId: body.agent_id,
    total: body.requests.length,
    createdAt: now.toISOString(),
    expiresAt: new Date(now.getTime() + services.batchSettings.timeout).toISOString(),
    stop: null,
    webhookEvents: body.webhook?.events ?? [],
    metadata: body.metadata,
    executionNumber: 1,
    next: 0,
    slotsMade: 0,
    slots: {},
  };
}

/** Retry-After in seconds. How long an open batch will take is unknown. */
const recheckSeconds = 30;

const tooManyOpen = (open: number) =>
  new ServiceError(
    'rateLimited',
    `The workspace has ${open} open batches, as many as it may have: wait for the end of one, or cancel one`,
    { retryAfter: recheckSeconds },
  );

async function rejectOneTooMany(
  { batches }: CreateServices,
  workspaceId: string,
  mostOpen: number | null,
): Promise<void> {
  if (mostOpen === null) return;
  const open = await batches.countOpen(workspaceId);
  if (open >= mostOpen) throw tooManyOpen(open);
}

async function reserveId(
  services: CreateServices,
  key: IdempotencyKey | null,
  drawn: string,
): Promise<string> {
  if (key === null) return drawn;
  const stored = await services.idempotency.store(key, { is: 'batch', batchId: drawn });
  return previousWork(stored, key, 'batch')?.batchId ?? drawn;
}

/**
 * Waits about 3 s at most for the request that has reserved the id. If both created the batch, the second would write
 * all its requests once more, over those of the first.
 */
async function awaitBatch(
  services: CreateServices,
  workspaceId: string,
  batchId: string,
): Promise<Batch | undefined> {
  for (let attempt = 1; attempt <= checksForBatch; attempt += 1) {
    const batch = await services.batches.get(workspaceId, batchId);
    if (batch !== undefined) return batch;
    await new Promise<void>((resolve) => services.clock.after(millisecondsBetweenChecks, resolve));
  }
  return undefined;
}

const replayOf = (batch: Batch) => ({ batch: { ...batch, ...newCounts }, replayed: true });

/** Requests that continue the same history form a chain, in input order. */
function requestsOf(body: CreateBatchBody): BatchRequest[] {
  const requests = body.requests.map(
    (request, requestIndex): BatchRequest => ({
      requestIndex,
      customId: request.custom_id,
      message: request.message,
      agentId: request.agent_id ?? body.agent_id,
      externalUserId: request.external_user_id ?? null,
      name: request.name ?? request.custom_id,
      attachedFileUuids: request.attached_file_uuids,
      historyId: request.history_id ?? null,
      next: null,
      previous: null,
    }),
  );
  const lastOfHistory = new Map<number, BatchRequest>();
  for (const request of requests) {
    if (request.historyId === null) continue;
    const before = lastOfHistory.get(request.historyId);
    if (before !== undefined) {
      before.next = request.requestIndex;
      request.previous = before.requestIndex;
    }
    lastOfHistory.set(request.historyId, request);
  }
  return requests;
}

const rejection = (requestIndex: number, text: string) =>
  new ServiceError('badRequest', `requests[${requestIndex}].${text}`);

function rejectRepeatedIds(requests: readonly BatchRequest[]): void {
  const seen = new Map<string, number>();
  for (const { customId, requestIndex } of requests) {
    const previous = seen.get(customId);
    if (previous !== undefined)
      throw rejection(requestIndex, `custom_id is the same as that of requests[${previous}]`);
    seen.set(customId, requestIndex);
  }
}

async function checkUsers(
  services: CreateServices,
  workspaceId: string,
  requests: readonly BatchRequest[],
): Promise<Checks> {
  const workspace = await services.workspaces.get(workspaceId);
  if (workspace === undefined) throw new ServiceError('accessDenied', 'Access denied');
  const checks = requestChecks(services, workspace);
  const problems = await Promise.all(requests.map(checks.problemOfUser));
  for (const [requestIndex, problem] of problems.entries())
    if (problem !== undefined)
      throw new ServiceError('clientNotAllowed', `requests[${requestIndex}].${problem}`);
  return checks;
}

async function rejectAgents(
  checks: Checks,
  { agent_id, response_format }: CreateBatchBody,
  requests: readonly BatchRequest[],
): Promise<void> {
  const [ofBatch, ...ofRequests] = await Promise.all(
    [{ agentId: agent_id }, ...requests].map(checks.agentOf),
  );
  const text = 'agent_id is not a published agent of this workspace';
  if (ofBatch === undefined) throw new ServiceError('badRequest', text);
  const first = ofRequests.indexOf(undefined);
  if (first >= 0) throw rejection(first, text);
  await requestedForm(response_format, ofBatch);
  const formed = ofRequests.findIndex((agent) => agent?.definition.output_schema !== undefined);
  if (response_format?.type === 'json_schema' && formed >= 0)
    throw rejection(
      formed,
      'agent_id names an agent with a schema of its own: response_format must not be a json_schema',
    );
}

async function rejectForeignHistories(
  services: CreateServices,
  workspaceId: string,
  requests: readonly BatchRequest[],
): Promise<void> {
  const ids = [...new Set(requests.flatMap(({ historyId }) => historyId ?? []))];
  const found = await Promise.all(ids.map((id) => services.chats.get(workspaceId, id)));
  for (const { historyId, agentId, externalUserId, requestIndex } of requests) {
    if (historyId === null) continue;
    const chat = found[ids.indexOf(historyId)];
    if (chat === undefined || !isOpenTo(chat, externalUserId ?? undefined))
      throw new ServiceError('notFound', `requests[${requestIndex}].history_id: Chat not found`);
    if (chat.agentId !== agentId) throw rejection(requestIndex, 'history_id: Agent mismatch');
  }
}

async function rejectUnknownFiles(
  { replySettings: { attachedFiles } }: CreateServices,
  checks: Checks,
  requests: readonly BatchRequest[],
): Promise<void> {
  const tooMany = requests.find(({ attachedFileUuids }) => attachedFileUuids.length > attachedFiles);
  if (tooMany !== undefined)
    throw rejection(tooMany.requestIndex, `attached_file_uuids must have at most ${attachedFiles} elements`);
  await allEnded(
    requests.map((request) =>
      checks.filesOf(request, `requests[${request.requestIndex}].attached_file_uuids`),
    ),
  );
}
