import { authorizeRequest } from '#domain/authorize-request.ts';
import { identifiers } from '#runtime/identifiers.ts';
import { files } from '#runtime/object-stores.ts';
import { receiveUpload } from '#runtime/receive-upload.ts';
import { serveUploads } from '#runtime/serve-uploads.ts';
import {
  apiKeys,
  clock,
  contentDetector,
  fileIndex,
  log,
  meter,
  stageLimits,
  usage,
  workspaces,
} from '#runtime/services.ts';

/** Files of up to 50 MB: the body is read as it comes. */
serveUploads({
  authorize: authorizeRequest({
    apiKeys: apiKeys(),
    clock,
    log,
    meter,
    stageLimits: stageLimits(),
    workspaces: workspaces(),
  }),
  receive: receiveUpload({
    clock,
    contentDetector,
    fileIndex: fileIndex(),
    files: files(),
    identifiers,
    log,
    meter,
    usage: usage(),
  }),
});
