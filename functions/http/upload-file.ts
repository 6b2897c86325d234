import { uploadRoute } from '#runtime/http/upload-route.ts';
import { receive } from '#runtime/routes/upload-file.ts';

/** For small files: API Gateway buffers the body into an event of at most 6 MB. */
export const handler = uploadRoute(receive);
