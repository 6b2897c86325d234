import { files } from '#runtime/composition/object-stores.ts';
import { clock, contentDetector, fileIndex, log, meter, usage } from '#runtime/composition/services.ts';
import { identifiers } from '#runtime/environment/identifiers.ts';
import { receiveUpload } from '#runtime/http/receive-upload.ts';

/** The route of upload-file, for the Lambda function and for the web function. */
export const receive = receiveUpload({
  clock,
  contentDetector,
  fileIndex: fileIndex(),
  files: files(),
  identifiers,
  log,
  meter,
  usage: usage(),
});
