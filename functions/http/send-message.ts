import { route } from '#contract/routes/send-message.ts';
import { lambdaHandler } from '#runtime/http/lambda-route.ts';
import { serve } from '#runtime/routes/send-message.ts';

export const handler = lambdaHandler(route, serve);
