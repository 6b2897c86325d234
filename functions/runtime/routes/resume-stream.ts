import { route } from '#contract/routes/resume-stream.ts';
import { resumeReply } from '#domain/chats/resume-reply.ts';
import { chats, clock, replyEvents, workspaces } from '#runtime/composition/services.ts';
import { eventStreamHeaders, writeStoredStream } from '#runtime/http/event-stream.ts';
import { checkUsers, externalUserOf } from '#runtime/http/external-user.ts';
import { serveRoute } from '#runtime/http/serve-route.ts';
import { annotateInvocation } from '#runtime/observability/invocation.ts';

const services = {
  chats: chats(),
  clock,
  replyEvents: replyEvents(),
  workspaces: workspaces(),
};
/** The route of resume-stream, for the Lambda function and for the web function. */
export const serve = serveRoute(
  route,
  async (request, { open, awaitRateLimit, remainingMilliseconds }) => {
    const { workspaceId, parameters, query } = request;
    annotateInvocation({ chat_id: String(parameters.chat_id) });
    const texts = await resumeReply(services, {
      workspaceId,
      chatId: parameters.chat_id,
      externalUserId: await externalUserOf(request),
      responseId: query.response_id,
      startingAfter: query.starting_after,
    });
    await awaitRateLimit();
    await writeStoredStream(() => open(eventStreamHeaders), texts, clock, remainingMilliseconds());
  },
  { checkUsers },
);
