import { uploadFileRoute } from '#contract/routes/files.ts';
import { lambdaHandler } from '#runtime/http/lambda-route.ts';
import { serve } from '#runtime/routes/upload-file.ts';

/** API Gateway buffers the body into an event, which has at most 6 MB. */
export const handler = lambdaHandler(uploadFileRoute, serve);
