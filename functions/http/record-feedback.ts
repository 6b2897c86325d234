import { recordFeedbackRoute } from '#contract/routes/messages.ts';
import { recordFeedback } from '#domain/chats/chats.ts';
import { chatServices, feedback } from '#runtime/composition/services.ts';
import { lambdaRoute } from '#runtime/http/lambda-route.ts';
import { chatOf, checkUsers } from '#runtime/http/request.ts';

const services = { ...chatServices(), feedback: feedback() };

export const handler = lambdaRoute(
  recordFeedbackRoute,
  async (request, { awaitRateLimit }) => {
    const { external_user_id: externalUserId, type, content } = request.body;
    const feedback = {
      ...{ externalUserId, type, messageId: request.parameters.message_id },
      // A request with sys_helpful may have an empty text.
      content: type === 'sys_helpful' ? null : (content ?? null),
    };
    await recordFeedback(services, { ...(await chatOf(request)), ...feedback }, awaitRateLimit);
    return { data: null, message: 'Feedback created' };
  },
  { awaitsRateLimit: true, checkUsers },
);
