import { type FileToPrepare, prepareAttachment } from '#domain/files/attachments.ts';
import { functionTextExtractor, imageFitter, preparation } from '#runtime/composition/services.ts';
import { observed } from '#runtime/observability/observed.ts';

const services = { imageFitter, preparation: preparation(), textExtractor: functionTextExtractor() };

/**
 * Extracts the text or resizes the image of an uploaded file for models. A hostile file can block only this function,
 * and can access only its own content and results.
 */
export const handler = observed((file: FileToPrepare) => prepareAttachment(services, file));
