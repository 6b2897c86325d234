import { completeChatRoute } from '#contract/routes/openai.ts';
import { lambdaHandler } from '#runtime/http/lambda-route.ts';
import { serve } from '#runtime/routes/complete-chat.ts';

export const handler = lambdaHandler(completeChatRoute, serve);
