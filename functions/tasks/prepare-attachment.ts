import { prepareAttachment } from '#domain/files/prepare-attachment.ts';
import { files, preparedAttachments } from '#runtime/composition/object-stores.ts';
import { fileIndex, functionTextExtractor, imageFitter } from '#runtime/composition/services.ts';
import { observed } from '#runtime/observability/observed.ts';

/** Makes of an uploaded file what models can be given. A hostile one holds this function alone. */
export const handler = observed(
  prepareAttachment({
    fileIndex: fileIndex(),
    files: files(),
    imageFitter,
    preparedAttachments: preparedAttachments(),
    textExtractor: functionTextExtractor(),
  }),
);
