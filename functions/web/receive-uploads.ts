import { serveUploads } from '#runtime/http/serve-uploads.ts';
import { authorize } from '#runtime/routes/authorize-request.ts';
import { serve } from '#runtime/routes/upload-file.ts';

/** Receives files of up to 50 MB: the body is read as a stream. */
serveUploads(authorize, serve);
