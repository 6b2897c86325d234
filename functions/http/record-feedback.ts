import { route } from '#contract/routes/record-feedback.ts';
import { recordFeedback } from '#domain/chats/record-feedback.ts';
import { chats, clock, feedback, workspaces } from '#runtime/composition/services.ts';
import { checkUsers } from '#runtime/http/external-user.ts';
import { lambdaRoute } from '#runtime/http/lambda-route.ts';

const services = {
  chats: chats(),
  clock,
  feedback: feedback(),
  workspaces: workspaces(),
};

export const handler = lambdaRoute(
  route,
  async ({ workspaceId, parameters, body }, { awaitRateLimit }) => {
    await recordFeedback(
      services,
      {
        workspaceId,
        chatId: parameters.chat_id,
        messageId: parameters.message_id,
        externalUserId: body.external_user_id,
        type: body.type,
        // With sys_helpful, the schema allows only an empty content.
        content: body.type === 'sys_helpful' ? undefined : body.content,
      },
      awaitRateLimit,
    );
    return { data: null, message: 'Feedback created' };
  },
  { awaitsRateLimit: true, checkUsers },
);
