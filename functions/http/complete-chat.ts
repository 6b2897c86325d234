import { route } from '#contract/routes/complete-chat.ts';
import { lambdaHandler } from '#runtime/http/lambda-route.ts';
import { serve } from '#runtime/routes/complete-chat.ts';

export const handler = lambdaHandler(route, serve);
