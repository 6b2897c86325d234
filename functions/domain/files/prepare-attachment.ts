import { ExtractionFailure } from './extraction-failure.ts';
import type { PreparationAddresses } from './preparation.ts';
import type { PreparedAttachment } from './prepared-attachments.ts';
import type { Services } from './services.ts';
import type { StoredFile } from './stored-file.ts';

type PrepareServices = Services<'imageFitter' | 'preparation' | 'textExtractor'>;

export interface FileToPrepare extends Pick<StoredFile, 'name' | 'contentType'> {
  addresses: PreparationAddresses;
}

/** Converts a file for models and stores the result. For an unreadable file it stores the reason, and never retries. */
export async function prepareAttachment(services: PrepareServices, file: FileToPrepare): Promise<void> {
  // An earlier version of the caller names the file alone, which this function may not read.
  if (file.addresses === undefined) throw new Error('The caller has signed no addresses');
  const bytes = await services.preparation.readFile(file.addresses);
  // Nothing is stored for a missing file, so the attachment reader reports it as no longer there.
  if (bytes === undefined) return;
  await services.preparation.putContent(file.addresses, await prepare(services, file, bytes));
}

async function prepare(
  services: PrepareServices,
  { name, contentType, addresses }: FileToPrepare,
  bytes: Uint8Array,
): Promise<PreparedAttachment> {
  const mediaType = contentType.split(';')[0] ?? '';
  try {
    if (!mediaType.startsWith('image/')) {
      const { contentType: _, ...extracted } = await services.textExtractor.extract({
        name,
        contentType,
        bytes,
      });
      return { type: 'text', ...extracted };
    }
    const fitted = await services.imageFitter.fit({ bytes, mediaType });
    if (fitted === null) return { type: 'image', mediaType, fitted: false };
    await services.preparation.putImage(addresses, fitted.bytes);
    const { bytes: _, ...image } = fitted;
    return { type: 'image', ...image, fitted: true };
  } catch (error) {
    if (!(error instanceof ExtractionFailure)) throw error;
    return { type: 'unreadable', reason: error.message };
  }
}
