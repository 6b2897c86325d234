import type { StoppedReplyResource } from '#contract/chat.ts';
import { stopReplyRoute } from '#contract/routes/messages.ts';
import { stopReply } from '#domain/chats/chats.ts';
import { chatServices } from '#runtime/composition/services.ts';
import { lambdaRoute } from '#runtime/http/lambda-route.ts';
import { chatOf, checkUsers } from '#runtime/http/request.ts';

const services = chatServices();

export const handler = lambdaRoute(
  stopReplyRoute,
  async (request, { awaitRateLimit }) => {
    const input = { ...(await chatOf(request)), responseId: request.body.response_id };
    const { responseId, hasEnded } = await stopReply(services, input, awaitRateLimit);
    const data: StoppedReplyResource = {
      chat_id: input.chatId,
      response_id: responseId,
      status: hasEnded ? 'stopped' : 'stopping',
    };
    return { data, status: hasEnded ? stopReplyRoute.status : stopReplyRoute.acceptedStatus };
  },
  { awaitsRateLimit: true, checkUsers },
);
