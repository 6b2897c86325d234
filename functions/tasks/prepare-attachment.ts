import { type FileToPrepare, prepareAttachment } from '#domain/files/attachments.ts';
import { functionTextExtractor, imageFitter, preparation } from '#runtime/composition/services.ts';
import { observed } from '#runtime/observability/observed.ts';

const services = { imageFitter, preparation: preparation(), textExtractor: functionTextExtractor() };

/** The file may be hostile, so this function has no access to other files. */
export const handler = observed((file: FileToPrepare) => prepareAttachment(services, file));
