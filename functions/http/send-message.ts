import { sendMessageRoute } from '#contract/routes/messages.ts';
import { lambdaHandler } from '#runtime/http/lambda-route.ts';
import { serve } from '#runtime/routes/send-message.ts';

export const handler = lambdaHandler(sendMessageRoute, serve);
