import { route } from '#contract/routes/resume-stream.ts';
import { lambdaHandler } from '#runtime/http/lambda-route.ts';
import { serve } from '#runtime/routes/resume-stream.ts';

export const handler = lambdaHandler(route, serve);
