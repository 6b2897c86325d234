import { ExtractionFailure } from './extraction-failure.ts';
import type { PreparedAttachment } from './prepared-attachments.ts';
import type { FileServices } from './services.ts';
import type { StoredFile } from './stored-file.ts';

type PrepareServices = Pick<
  FileServices,
  'fileIndex' | 'files' | 'imageFitter' | 'preparedAttachments' | 'textExtractor'
>;

/** Converts a file for models and stores the result. For an unreadable file it stores the reason, and never retries. */
export const prepareAttachment =
  (services: PrepareServices) =>
  async (input: { workspaceId: string; uuid: string }): Promise<void> => {
    const file = await services.fileIndex.get(input.workspaceId, input.uuid);
    // Nothing is stored for a missing file, so the attachment reader reports it as no longer there.
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
