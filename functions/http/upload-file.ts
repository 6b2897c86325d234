import { files } from '#runtime/composition/object-stores.ts';
import { clock, contentDetector, fileIndex, log, meter, usage } from '#runtime/composition/services.ts';
import { identifiers } from '#runtime/environment/identifiers.ts';
import { receiveUpload } from '#runtime/http/receive-upload.ts';
import { uploadRoute } from '#runtime/http/upload-route.ts';

/** For small files: API Gateway buffers the body into an event of at most 6 MB. */
export const handler = uploadRoute(
  receiveUpload({
    clock,
    contentDetector,
    fileIndex: fileIndex(),
    files: files(),
    identifiers,
    log,
    meter,
    usage: usage(),
  }),
);
