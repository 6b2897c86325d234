import { authorizeRequest } from '#domain/workspaces/authorize-request.ts';
import { files } from '#runtime/composition/object-stores.ts';
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
} from '#runtime/composition/services.ts';
import { identifiers } from '#runtime/environment/identifiers.ts';
import { receiveUpload } from '#runtime/http/receive-upload.ts';
import { serveUploads } from '#runtime/http/serve-uploads.ts';

/** For files of up to 50 MB: the body is read as a stream. */
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
