import { identifiers } from '#runtime/identifiers.ts';
import { files } from '#runtime/object-stores.ts';
import { receiveUpload } from '#runtime/receive-upload.ts';
import { clock, contentDetector, fileIndex, log, meter, usage } from '#runtime/services.ts';
import { uploadRoute } from '#runtime/upload-route.ts';

/** Small files: the body comes whole, in an event of at most 6 MB. */
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
