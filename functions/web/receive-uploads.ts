import { serveUploads } from '#runtime/http/serve-uploads.ts';
import { serve } from '#runtime/routes/upload-file.ts';

serveUploads(serve);
