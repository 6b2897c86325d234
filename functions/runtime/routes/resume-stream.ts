import { resumeStreamRoute } from '#contract/routes/messages.ts';
import { resumeReply } from '#domain/chats/reply-stream.ts';
import { chatServices, clock, replyEvents } from '#runtime/composition/services.ts';
import { eventStreamHeaders, writeStoredStream } from '#runtime/http/event-stream.ts';
import { chatOf, checkUsers } from '#runtime/http/request.ts';
import { serveRoute } from '#runtime/http/serve-route.ts';
import { annotateInvocation } from '#runtime/observability/invocation.ts';

const services = { ...chatServices(), replyEvents: replyEvents() };
export const serve = serveRoute(
  resumeStreamRoute,
  async (request, { open, awaitRateLimit, remainingMilliseconds }) => {
    const { response_id: responseId, starting_after: startingAfter } = request.query;
    annotateInvocation({ chat_id: String(request.parameters.chat_id) });
    const texts = await resumeReply(services, { ...(await chatOf(request)), responseId, startingAfter });
    await awaitRateLimit();
    await writeStoredStream(() => open(eventStreamHeaders), texts, clock, remainingMilliseconds());
  },
  { checkUsers },
);
