import { historyCache } from '#adapters/dynamo/chats/history-cache.ts';
import { ServiceError, success } from '#contract/errors.ts';
import { replyHeaders } from '#contract/headers.ts';
import { sendMessageRoute } from '#contract/routes/messages.ts';
import { responseIdOf } from '#domain/chats/chat.ts';
import { isFailedByModel } from '#domain/chats/collect-reply.ts';
import type { ReplySink } from '#domain/chats/forward-reply.ts';
import { type AssistantMessage, messageId } from '#domain/chats/message.ts';
import { recordEvents, repeatedStream } from '#domain/chats/reply-stream.ts';
import { finishTurn, startTurn } from '#domain/chats/send-turn.ts';
import { combinedUsage } from '#domain/workspaces/count-usage.ts';
import {
  agentRuntime,
  chatServices,
  clock,
  fileIndex,
  idempotency,
  messages,
  replyEvents,
  replyServices,
  stops,
  usage,
} from '#runtime/composition/services.ts';
import { identifiers } from '#runtime/environment/invocation-context.ts';
import { eventStreamHeaders, openEventStream, writeStoredStream } from '#runtime/http/event-stream.ts';
import { checkUsers, idempotencyKeyOf, replayHeaders } from '#runtime/http/request.ts';
import { type OpenResponse, serveRoute, timeForModel } from '#runtime/http/serve-route.ts';
import { abortOnShutdown, isOnlyRequest } from '#runtime/http/web-server.ts';
import { annotateInvocation, measurements } from '#runtime/observability/invocation.ts';
import { timeReply } from '#runtime/observability/meter.ts';

export const histories = historyCache(messages(), clock);

const services = {
  ...chatServices(),
  ...replyServices(),
  agentRuntime: agentRuntime(),
  fileIndex: fileIndex(),
  identifiers,
  messages: histories.messages,
  replyEvents: replyEvents(),
  stops: stops(),
  idempotency: idempotency(),
  usage: combinedUsage(usage(), clock, isOnlyRequest),
};

export const serve = serveRoute(
  sendMessageRoute,
  async (request, { open, remainingMilliseconds, awaitRateLimit, charge, finishAfterResponse }) => {
    const replyTimer = timeReply(sendMessageRoute.name, performance.now());
    const { body, workspaceId, apiKeyId, parameters, gatewayId: requestId } = request;
    annotateInvocation({ chat_id: String(parameters.chat_id) });
    const key = idempotencyKeyOf(sendMessageRoute, request);
    const resumable = body.resumable === true;
    if (body.stream && !resumable && key !== null) {
      await checkUsers(workspaceId, [body.external_user_id]);
      throw new ServiceError(
        'badRequest',
        'Idempotency-Key needs "stream": false or "resumable": true: any other stream that has broken off is not sent again',
      );
    }
    const started = await startTurn(
      services,
      {
        workspaceId,
        apiKeyId,
        chatId: parameters.chat_id,
        agentId: body.agent_id,
        message: body.message,
        attachedFileUuids: body.attached_file_uuids,
        externalUserId: body.external_user_id,
        resumable,
        responseFormat: body.response_format,
      },
      { requestId, key },
      {
        awaitRateLimit,
        deadline: () => timeForModel(sendMessageRoute, body.stream, remainingMilliseconds()),
      },
    );
    const chatId = parameters.chat_id;
    if (!('running' in started)) {
      if ('reply' in started && !body.stream)
        return sendWhole(open, chatId, started.reply, { replayed: key !== null });
      const texts = repeatedStream(services, started, { workspaceId, chatId, agentId: body.agent_id });
      const openStream = () => open({ ...eventStreamHeaders, ...replayHeaders(key !== null) });
      return writeStoredStream(openStream, texts, clock, remainingMilliseconds());
    }
    const stopWatching = abortOnShutdown(started.running.stop);
    const responseId = responseIdOf(started.turn.chat.lease);
    const recorder = resumable ? recordEvents(services, { workspaceId, chatId, responseId }) : undefined;
    const events = body.stream
      ? openEventStream(open(eventStreamHeaders), { chatId, responseId }, clock, recorder)
      : noEvents;
    // The text of a buffered reply is sent at its end: the time of its first delta says nothing about the model.
    const isBuffered =
      started.turn.form !== undefined || started.turn.agent.definition.output_schema !== undefined;
    const sink = isBuffered ? events : { ...events, emit: replyTimer.listening(events.emit) };
    const { reply, closed, finished } = await finishTurn(services, started, sink).finally(stopWatching);
    charge({ modelCalls: started.running.budget.furtherModelCalls });
    replyTimer.ended(reply);
    finishAfterResponse(finished);
    // The service may have failed to store a reply that the model has completed. That is no failure of the model.
    const byModel = isFailedByModel(await started.running.completed);
    if (!body.stream) {
      const position = started.turn.position + 1;
      return sendWhole(
        open,
        chatId,
        { ...reply, position, responseId, tokenUsage: reply.usage },
        { byModel },
      );
    }
    if (reply.error !== null && !byModel) measurements.add('streamedFaults', 1, {});
    return closed;
  },
  { checkUsers },
);

const noEvents: ReplySink = {
  emit: () => undefined,
  started: () => Promise.resolve(),
  done: () => undefined,
};

/** @throws serverError with the reply's own error, if the reply has failed */
function sendWhole(
  open: OpenResponse,
  chatId: number,
  {
    error,
    content,
    ...reply
  }: Pick<AssistantMessage, 'position' | 'content' | 'tokenUsage' | 'error' | 'incomplete' | 'responseId'>,
  // A replayed failure counts as the model's: it may be hours old and says nothing about this release.
  { replayed = false, byModel = replayed }: { replayed?: boolean; byModel?: boolean },
): void {
  const headers = {
    ...replayHeaders(replayed),
    [replyHeaders.messageId]: String(messageId(chatId, reply.position)),
    [replyHeaders.tokenUsage]: JSON.stringify(reply.tokenUsage),
    // An earlier release stored no response id.
    [replyHeaders.responseId]: reply.responseId ?? responseIdOf({ id: identifiers.uuid() }),
    ...(reply.incomplete !== null && { [replyHeaders.incomplete]: reply.incomplete }),
  };
  if (error !== null) {
    if (byModel) measurements.add('modelErrorResponses', 1, {});
    throw new ServiceError('serverError', error.message, { headers, reason: error.message });
  }
  open(headers).write(JSON.stringify(success(content)));
}
