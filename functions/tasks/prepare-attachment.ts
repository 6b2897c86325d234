import { prepareAttachment } from '#domain/files/prepare-attachment.ts';
import { files, preparedAttachments } from '#runtime/composition/object-stores.ts';
import { fileIndex, functionTextExtractor, imageFitter } from '#runtime/composition/services.ts';
import { observed } from '#runtime/observability/observed.ts';

/**
 * Extracts the text or resizes the image of an uploaded file for models. A hostile file can block only this function.
 */
export const handler = observed(
  prepareAttachment({
    fileIndex: fileIndex(),
    files: files(),
    imageFitter,
    preparedAttachments: preparedAttachments(),
    textExtractor: functionTextExtractor(),
  }),
);
