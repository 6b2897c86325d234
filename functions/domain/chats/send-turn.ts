import { chatNotFound, replyInProgress } from '#contract/errors.ts';
import type { AgentVersion } from '#domain/agents/agent.ts';
import { attachFiles } from '#domain/files/attachments.ts';
import { type IdempotencyKey, previousWork } from '#domain/platform/idempotency.ts';
import { countUsage } from '#domain/workspaces/count-usage.ts';
import type { AwaitRateLimit } from '#domain/workspaces/rate-limits.ts';
import { requestedForm } from './agent-runtime.ts';
import { isResumable, type Lease, newLeaseId, responseIdOf } from './chat.ts';
import { nameChat } from './chats.ts';
import { type CheckedSend, checkSend, requirePublishedAgent, type SendInput } from './check-send.ts';
import { type Reply, ReplyAborted, type RunningReply, startReply } from './collect-reply.ts';
import { forwardReply, type ReplySink, storeReply } from './forward-reply.ts';
import { readHistory } from './history.ts';
import { type AssistantMessage, messageId } from './message.ts';
import type { Services } from './services.ts';
import {
  closeAbandonedTurn,
  expiresSoon,
  openTurn,
  type PreviousTurn,
  type SentTurn,
  turnAt,
  userMessageOf,
} from './turn.ts';

type ReplayServices = Services<
  'agents' | 'chats' | 'clock' | 'identifiers' | 'messages' | 'replyEvents' | 'replySettings'
>;

export interface LiveReply {
  responseId: string;
}

export interface StoredReply {
  reply: AssistantMessage;
  /** As published now, not when it replied; undefined if it is not published any more. */
  agent: AgentVersion | undefined;
}

/**
 * Finds the work of an earlier request with the same idempotency key: its reply, complete or not; a running reply that
 * is resumable; or the turn, under a new chat lease, if no function owns it any more.
 * @returns `retry` if the turn must be read again
 * @throws `Chat not found` if the chat was deleted; `A reply is already in progress for this chat`; the errors of
 *   requirePublishedAgent before a new lease
 */
async function findReplay(
  services: ReplayServices,
  checked: CheckedSend,
  { chatId, position }: NonNullable<CheckedSend['previous']>,
): Promise<StoredReply | LiveReply | { turn: SentTurn } | 'retry'> {
  const { workspace, apiKeyId } = checked;
  const chat = await services.chats.get(workspace.id, chatId);
  if (chat === undefined) throw chatNotFound();
  const { user, reply } = await turnAt(services, chat, position);
  // A purge may have deleted the message since the chat was read.
  if (user === undefined && (await services.chats.get(chat.workspaceId, chat.id)) === undefined)
    throw chatNotFound();
  if (user === undefined) throw new Error(`A message of chat ${chat.id} of an idempotency record is missing`);
  if (reply !== undefined) return { reply, agent: checked.publishedAgent };
  const now = services.clock.now().getTime();
  const isOpen = chat.messageCount === position - 1;
  if (chat.lease !== null && chat.lease.until > now) {
    if (isOpen && isResumable(chat.lease)) return { responseId: responseIdOf(chat.lease) };
    throw replyInProgress();
  }
  if (chat.lease?.isStopped) {
    await closeAbandonedTurn(services, chat);
    return 'retry';
  }
  const agent = await requirePublishedAgent(services, checked);
  const history = await readHistory(services, agent, chat, position - 1);
  const lease: Lease = {
    id: newLeaseId(services.identifiers.uuid(), checked),
    until: now + services.replySettings.lease,
  };
  if (!isOpen || !(await services.chats.takeOverLease(chat, lease))) return 'retry';
  if (expiresSoon(services, lease, services.replySettings.lease)) return 'retry';
  return {
    turn: {
      apiKeyId,
      chat: { ...chat, lease },
      agent,
      position,
      message: user.content,
      attachments: user.attachments,
      history,
      form: await requestedForm(checked.responseFormat, agent),
      makesTitle: position === 1 && workspace.titlesEnabled,
    },
  };
}

type StartServices = Parameters<typeof checkSend>[0] &
  Parameters<typeof findReplay>[0] &
  Parameters<typeof openTurn>[0] &
  Parameters<typeof startReply>[0] &
  Parameters<typeof countUsage>[0] &
  Services<'clock' | 'idempotency'>;

type FinishServices = Services<'agentRuntime' | 'chats' | 'messages' | 'replySettings' | 'stops'> &
  Parameters<typeof storeReply>[0];

export type StartedTurn = RunningTurn | LiveReply | StoredReply;

interface RunningTurn {
  turn: SentTurn;
  running: RunningReply;
}

/** An attempt fails, for example, if another function takes the position or the idempotency key. */
const attempts = 5;

/**
 * The client gets nothing of the reply before the user message is stored.
 * @param requestId the gateway's id of the request, by which a repetition by the gateway is recognized
 * @param deadline returns the milliseconds that the reply may still take
 * @returns a running turn, which the caller passes to finishTurn; or, for a repeated send, the running or stored reply
 * @throws the errors of checkSend, findReplay and openTurn; `A reply is already in progress for this chat`; badRequest
 *   for a file that is closed or deleted
 */
export async function startTurn(
  services: StartServices,
  input: SendInput,
  { requestId, key }: { requestId: string; key: IdempotencyKey | null },
  { awaitRateLimit, deadline }: { awaitRateLimit: AwaitRateLimit; deadline: () => number },
): Promise<StartedTurn> {
  let checked = await checkSend(services, input, key, awaitRateLimit);
  const request = { id: requestId, isFurtherAttempt: false };
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    const outcome = await attemptTurn(services, checked, { request, key, deadline });
    if (typeof outcome === 'object') return outcome;
    if (outcome === 'key-in-use' && key !== null)
      checked = { ...checked, previous: previousWork(await services.idempotency.find(key), key, 'turn') };
  }
  throw replyInProgress();
}

interface AttemptOptions {
  request: { id: string; isFurtherAttempt: boolean };
  key: IdempotencyKey | null;
  deadline: () => number;
}

async function attemptTurn(
  services: StartServices,
  checked: CheckedSend,
  { request, key, deadline }: AttemptOptions,
): Promise<StartedTurn | 'retry' | 'key-in-use'> {
  if (checked.previous !== undefined) {
    const found = await findReplay(services, checked, checked.previous);
    return typeof found === 'object' && 'turn' in found ? start(services, found.turn, deadline()) : found;
  }
  const turn = await open(services, checked, request);
  if ('startedAt' in turn) return storedReply(services, checked, turn);
  request.isFurtherAttempt = true;
  const started = start(services, turn, deadline());
  const outcome = await storeUserMessage(services, started, checked.attachedFileUuids, key);
  if (outcome === 'stored') return started;
  await abandon(services, started);
  return outcome === 'key-in-use' ? outcome : 'retry';
}

async function open(
  services: StartServices,
  checked: CheckedSend,
  request: AttemptOptions['request'],
): Promise<SentTurn | PreviousTurn> {
  const { workspaceId, chatId, externalUserId, message, attachments, apiKeyId } = checked;
  const turn = await openTurn(services, {
    ...{ workspaceId, chatId, externalUserId, message, attachments, request },
    agent: await requirePublishedAgent(services, checked),
    leaseId: newLeaseId(services.identifiers.uuid(), checked),
    milliseconds: services.replySettings.lease,
  });
  if (turn === 'in-progress') throw replyInProgress();
  if ('startedAt' in turn) return turn;
  const makesTitle = turn.position === 1 && checked.workspace.titlesEnabled;
  return { ...turn, apiKeyId, makesTitle, form: checked.form };
}

async function storedReply(
  services: StartServices,
  { workspaceId, chatId, message, publishedAgent: agent }: CheckedSend,
  { startedAt }: PreviousTurn,
): Promise<StoredReply> {
  const { user, reply } = await turnAt(services, { workspaceId, id: chatId }, startedAt);
  // The position may have the message of another request.
  if (user?.content !== message || reply === undefined) throw replyInProgress();
  return { reply, agent };
}

const start = (services: StartServices, turn: SentTurn, deadline: number) => ({
  turn,
  running: startReply(services, turn, deadline),
});

/** Before it throws, it tries to abandon the turn. */
async function storeUserMessage(
  services: StartServices,
  started: RunningTurn,
  attachedFileUuids: readonly string[],
  key: IdempotencyKey | null,
): Promise<'stored' | 'position-taken' | 'key-in-use'> {
  const { chat, attachments } = started.turn;
  const message = userMessageOf(services, started.turn);
  try {
    await attachFiles(services, chat.id, attachments, attachedFileUuids);
    if (key !== null) return await services.messages.putWithKey(chat, message, key);
    return (await services.messages.put(chat, message)) ? 'stored' : 'position-taken';
  } catch (error) {
    // The message may be stored. If closing fails too, the chat lease expires.
    await abandon(services, started).catch(() => undefined);
    throw error;
  }
}

/** Waits for the model to stop, because Lambda freezes what runs after the function's end. */
async function abandon(services: StartServices, { turn, running }: RunningTurn): Promise<void> {
  await running.abort();
  const { workspaceId } = turn.chat;
  const { calls } = (await running.completed).reply;
  const use = { workspaceId, apiKeyId: turn.apiKeyId, agentId: turn.agent.agentId, counts: {}, calls };
  await Promise.all([closeAbandonedTurn(services, turn.chat), countUsage(services, use)]);
}

/**
 * The first text starts the title, so a reply that fails before its first text has no title.
 * @returns `reply`: as in storeReply; `closed`: resolves after `done`; `finished`: the caller waits for it before its
 *   function ends
 */
export async function finishTurn(
  services: FinishServices,
  { turn, running }: RunningTurn,
  { emit, started, done }: ReplySink,
): Promise<{ reply: Reply; closed: Promise<void>; finished: Promise<unknown> }> {
  const title = nameChat(services, turn, running.budget, emit);
  const forwarded = await forwardReply(services, turn, running, { emit }, title.start);
  if (endsAtOnce(running.stop.signal.reason)) title.cancel();
  // Otherwise, a client that resumes could find neither the turn in progress nor stored events.
  await started();
  const { reply, counted } = await storeReply(services, turn, forwarded.reply);
  if (reply.error === null) {
    // A reply without a text, such as one that only shows a form, has not started the title yet.
    title.start();
    emit({
      type: 'response.output_text.completed',
      message_id: messageId(turn.chat.id, turn.position + 1),
      final_text: reply.content,
      usage: reply.usage,
      ...(reply.model !== undefined &&
        reply.model !== turn.agent.definition.llm_model && { model: reply.model }),
      ...(reply.incomplete !== null && { incomplete: reply.incomplete }),
    });
  } else emit({ type: 'response.error', ...reply.error });
  const closed = title.finish().then(done);
  return { reply, closed, finished: Promise.all([closed, title.written(), forwarded.renewed, counted]) };
}

const endsAtOnce = (reason: unknown): boolean =>
  reason instanceof ReplyAborted && ['stopped-by-client', 'shutdown', 'lease-lost'].includes(reason.kind);
