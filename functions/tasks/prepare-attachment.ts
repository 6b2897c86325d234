import { prepareAttachment } from '#domain/prepare-attachment.ts';
import { files, preparedAttachments } from '#runtime/object-stores.ts';
import { observed } from '#runtime/observed.ts';
import { fileIndex, functionTextExtractor, imageFitter } from '#runtime/services.ts';

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
