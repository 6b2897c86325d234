import { success } from '#contract/envelope.ts';
import { ServiceError } from '#contract/errors.ts';
import { answerTurn } from '#domain/answer-turn.ts';
import { beginTurn } from '#domain/begin-turn.ts';
import { environment } from '#runtime/environment.ts';
import { eventStreamHeaders, openEventStream } from '#runtime/event-stream.ts';
import { identifiers } from '#runtime/identifiers.ts';
import {
  agentRuntime,
  agents,
  chats,
  clock,
  fileIndex,
  log,
  messages,
  replySettings,
  workspaces,
} from '#runtime/services.ts';
import { streamedRoute } from '#runtime/streamed-route.ts';

const services = {
  agentRuntime: agentRuntime(),
  agents: agents(),
  chats: chats(),
  clock,
  fileIndex: fileIndex(),
  identifiers,
  log,
  messages: messages(),
  replySettings: replySettings(),
  workspaces: workspaces(),
};
const begin = beginTurn(services);
const answer = answerTurn(services);

/** What is left of the function's time when a reply is cut: two calls to store it, each with room for some tries. */
const millisecondsToStore = 15_000;

export const handler = streamedRoute('send-message', async (request, open, context) => {
  const { body, workspaceId, parameters, admitted } = request;
  const turn = await begin({
    workspaceId,
    chatId: parameters.chat_id,
    agentId: body.agent_id,
    message: body.message,
    attachedFileUuids: body.attached_file_uuids,
    externalUserId: body.external_user_id,
    admitted,
  });
  const deadline = context.getRemainingTimeInMillis() - millisecondsToStore;
  if (body.stream) {
    const stream = open(eventStreamHeaders);
    const responseId = `resp_${services.identifiers.uuid()}`;
    const events = openEventStream(stream, { responseId, chatId: turn.chat.id }, clock);
    await answer(turn, { emit: events.send, done: events.done }, deadline);
    return;
  }
  const plainDeadline = environment('plainReplySeconds') * 1000;
  const unheard = { emit: () => undefined, done: () => undefined };
  const reply = await answer(turn, unheard, Math.min(deadline, plainDeadline));
  if (reply.error !== null) throw new ServiceError('serverError', reply.error.message);
  open().write(JSON.stringify(success(reply.content)));
});
