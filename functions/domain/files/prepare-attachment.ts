import { ExtractionFailure } from './extraction-failure.ts';
import type { PreparedAttachment } from './prepared-attachments.ts';
import type { FileServices } from './services.ts';
import type { StoredFile } from './stored-file.ts';

type PrepareServices = Pick<
  FileServices,
  'fileIndex' | 'files' | 'imageFitter' | 'preparedAttachments' | 'textExtractor'
>;

/** Makes of a file what models can be given, and keeps it. What cannot be read is kept as such, and not tried again. */
export const prepareAttachment =
  (services: PrepareServices) =>
  async (input: { workspaceId: string; uuid: string }): Promise<void> => {
    const file = await services.fileIndex.get(input.workspaceId, input.uuid);
    // Nothing is kept for it then, and its reader finds nothing.
    if (file === undefined) return;
    await services.preparedAttachments.put(file, await prepare(services, file));
  };

async function prepare(services: PrepareServices, file: StoredFile): Promise<PreparedAttachment> {
  const stored = await services.files.read(file);
  if (stored === undefined) return { type: 'unreadable', reason: 'is no longer there' };
  const bytes = Buffer.concat(await Array.fromAsync(stored));
  const mediaType = file.contentType.split(';')[0] ?? '';
  try {
    if (!mediaType.startsWith('image/')) {
      const { text, pageOffsets } = await services.textExtractor.extract({
        name: file.name,
        contentType: file.contentType,
        bytes,
      });
      return { type: 'text', text, pageOffsets };
    }
    const fitted = await services.imageFitter.fit({ bytes, mediaType });
    if (fitted === null) return { type: 'image', mediaType, fitted: false };
    await services.preparedAttachments.putImage(file, fitted.bytes);
    return { type: 'image', mediaType: fitted.mediaType, fitted: true };
  } catch (error) {
    if (!(error instanceof ExtractionFailure)) throw error;
    return { type: 'unreadable', reason: error.message };
  }
}
