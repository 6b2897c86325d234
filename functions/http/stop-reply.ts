import type { StoppedReplyResource } from '#contract/chat.ts';
import { route } from '#contract/routes/stop-reply.ts';
import { stopReply } from '#domain/chats/stop-reply.ts';
import { chats, clock, workspaces } from '#runtime/composition/services.ts';
import { checkUsers } from '#runtime/http/external-user.ts';
import { lambdaRoute } from '#runtime/http/lambda-route.ts';

const services = { chats: chats(), clock, workspaces: workspaces() };

export const handler = lambdaRoute(
  route,
  async ({ workspaceId, parameters, body }, { awaitRateLimit }) => {
    const { responseId, hasEnded } = await stopReply(
      services,
      {
        workspaceId,
        chatId: parameters.chat_id,
        externalUserId: body.external_user_id,
        responseId: body.response_id,
      },
      awaitRateLimit,
    );
    const data: StoppedReplyResource = {
      chat_id: parameters.chat_id,
      response_id: responseId,
      status: hasEnded ? 'stopped' : 'stopping',
    };
    return { data, status: hasEnded ? route.status : route.acceptedStatus };
  },
  { awaitsRateLimit: true, checkUsers },
);
