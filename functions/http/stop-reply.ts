import type { StoppedReplyResource } from '#contract/chat.ts';
import { route } from '#contract/routes/stop-reply.ts';
import { stopReply } from '#domain/chats/stop-reply.ts';
import { chats, clock, workspaces } from '#runtime/composition/services.ts';
import { chatOf, checkUsers } from '#runtime/http/external-user.ts';
import { lambdaRoute } from '#runtime/http/lambda-route.ts';

const services = { chats: chats(), clock, workspaces: workspaces() };

export const handler = lambdaRoute(
  route,
  async (request, { awaitRateLimit }) => {
    const input = { ...(await chatOf(request)), responseId: request.body.response_id };
    const { responseId, hasEnded } = await stopReply(services, input, awaitRateLimit);
    const data: StoppedReplyResource = {
      chat_id: input.chatId,
      response_id: responseId,
      status: hasEnded ? 'stopped' : 'stopping',
    };
    return { data, status: hasEnded ? route.status : route.acceptedStatus };
  },
  { awaitsRateLimit: true, checkUsers },
);
