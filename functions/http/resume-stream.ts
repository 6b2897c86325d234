import { resumeStreamRoute } from '#contract/routes/messages.ts';
import { lambdaHandler } from '#runtime/http/lambda-route.ts';
import { serve } from '#runtime/routes/resume-stream.ts';

export const handler = lambdaHandler(resumeStreamRoute, serve);
