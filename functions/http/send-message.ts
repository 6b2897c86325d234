import type { Context } from 'aws-lambda';
import { success } from '#contract/envelope.ts';
import { ServiceError } from '#contract/errors.ts';
import { incompleteHeader } from '#contract/incomplete.ts';
import { route } from '#contract/routes/send-message.ts';
import { forwardReply } from '#domain/chats/forward-reply.ts';
import type { Reply } from '#domain/chats/gather-reply.ts';
import { startReply } from '#domain/chats/start-reply.ts';
import { startTurn } from '#domain/chats/start-turn.ts';
import { checkNamedUsers } from '#domain/workspaces/find-workspace.ts';
import {
  agentRuntime,
  agents,
  chats,
  clock,
  fileIndex,
  idempotency,
  log,
  messages,
  meter,
  replySettings,
  usage,
  workspaces,
} from '#runtime/composition/services.ts';
import { environment } from '#runtime/environment/environment.ts';
import { identifiers } from '#runtime/environment/identifiers.ts';
import { eventStreamHeaders, openEventStream } from '#runtime/http/event-stream.ts';
import { idempotencyKeyOf, replayHeaders } from '#runtime/http/idempotency-key.ts';
import { streamedRoute } from '#runtime/http/streamed-route.ts';
import { annotateInvocation } from '#runtime/observability/invocation.ts';
import { timeReply } from '#runtime/observability/time-reply.ts';

const services = {
  agentRuntime: agentRuntime(),
  agents: agents(),
  chats: chats(),
  clock,
  fileIndex: fileIndex(),
  identifiers,
  log,
  meter,
  messages: messages(),
  replySettings: replySettings(),
  idempotency: idempotency(),
  usage: usage(),
  workspaces: workspaces(),
};
const start = startTurn(services);
const send = startReply(services);
const respond = forwardReply(services);
const checkUsers = checkNamedUsers(services);

/** What is left of the function's time when a reply is cut: two calls to store it, each with room for some tries. */
const millisecondsToStore = 15_000;

/** Milliseconds that the model may take. */
function timeFor(isStreamed: boolean, context: Context): number {
  const left = context.getRemainingTimeInMillis() - millisecondsToStore;
  return isStreamed ? left : Math.min(left, environment('plainReplySeconds') * 1000);
}

export const handler = streamedRoute(
  route,
  async (request, open, { context, finishAfterResponse }) => {
    const replyTimer = timeReply(performance.now());
    const { body, workspaceId, apiKeyId, parameters, admitted } = request;
    annotateInvocation({ chat_id: String(parameters.chat_id) });
    const key = idempotencyKeyOf(route, request);
    if (body.stream && key !== null) {
      await checkUsers(workspaceId, [body.external_user_id]);
      throw new ServiceError(
        'badRequest',
        'Idempotency-Key needs "stream": false: a stream that has broken off is not sent again',
      );
    }
    const started = await start(
      {
        workspaceId,
        apiKeyId,
        chatId: parameters.chat_id,
        agentId: body.agent_id,
        message: body.message,
        attachedFileUuids: body.attached_file_uuids,
        externalUserId: body.external_user_id,
        admitted,
      },
      key,
      (turn) => send(turn, timeFor(body.stream, context)),
    );
    const sendWhole = (
      { error, incomplete, content }: Pick<Reply, 'error' | 'incomplete' | 'content'>,
      replayed: boolean,
    ): void => {
      const headers = {
        ...replayHeaders(replayed),
        ...(incomplete !== null && { [incompleteHeader]: incomplete }),
      };
      if (error !== null)
        throw new ServiceError('serverError', error.message, { headers, reason: error.message });
      open(headers).write(JSON.stringify(success(content)));
    };
    if ('reply' in started) return sendWhole(started.reply, true);
    const { turn, running } = started;
    if (body.stream) {
      const stream = open(eventStreamHeaders);
      const responseId = `resp_${services.identifiers.uuid()}`;
      const events = openEventStream(stream, { responseId, chatId: turn.chat.id }, clock);
      const emit = replyTimer.listening(events.send);
      const { reply, finished } = await respond(turn, { emit, done: events.done }, running);
      replyTimer.ended(reply);
      return finished;
    }
    const unheard = { emit: replyTimer.listening(() => undefined), done: () => undefined };
    const { reply, finished } = await respond(turn, unheard, running);
    finishAfterResponse(finished);
    replyTimer.ended(reply);
    sendWhole(reply, false);
  },
  { checkUsers },
);
