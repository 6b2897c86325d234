import { uploadFileRoute } from '#contract/routes/files.ts';
import { lambdaHandler } from '#runtime/http/lambda-route.ts';
import { serve } from '#runtime/routes/upload-file.ts';

/** For at most 4.5 MB: API Gateway sends the body, in base64, in an event of at most 6 MB. */
export const handler = lambdaHandler(uploadFileRoute, serve);
