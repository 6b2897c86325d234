import { serveUploads } from '#runtime/http/serve-uploads.ts';
import { authorize } from '#runtime/routes/authorize-request.ts';
import { serve } from '#runtime/routes/upload-file.ts';

serveUploads(authorize, serve);
