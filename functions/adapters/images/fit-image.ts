import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { ExtractionFailure, type ImageFitter, preparedImageBytes } from '#domain/files/files.ts';
import { firstFrame, isWhole, orientationOf } from './image-structure.ts';
import type { ShrinkRequest } from './shrinking-thread.ts';

/** Amazon Bedrock's limits for an image. */
const limits = { bytes: preparedImageBytes, side: 8000 };

/** In pixels a side. Many providers scale larger images down anyway. */
const shrunkSide = 2048;
/** Tried in this order: the later ones are for noisy images. */
const qualities = [85, 70, 50];

/** At 4 bytes a pixel, this is 200 MB. Decoder and resizer need about five times that. */
const maxPixels = 50_000_000;

/** All types of uploaded images except GIF, for which there is no codec here. */
const shrinkable = ['image/jpeg', 'image/png', 'image/webp'];

export const imageFitter: ImageFitter = {
  async fit(original) {
    const { bytes, mediaType } = original;
    const orientation = orientationOf(bytes, mediaType);
    const frame = firstFrame(bytes, mediaType);
    if (frame === undefined) return fitStill({ ...original, orientation });
    const fitted = await fitStill({ bytes: frame, mediaType, orientation });
    return { bytes: frame, mediaType, ...fitted, notices: ['animated: only its first frame is shown'] };
  },
};

type Image = ShrinkRequest['image'];

async function fitStill(image: Image): Promise<Awaited<ReturnType<ImageFitter['fit']>>> {
  const { width, height } = await sizeOf(image.bytes);
  if (width * height <= maxPixels && !(await isWhole(image.bytes, image.mediaType, { width, height })))
    throw new ExtractionFailure('unreadable', 'cannot be read as an image');
  const isSmall = image.bytes.length <= limits.bytes && Math.max(width, height) <= limits.side;
  // Not all models turn an image as its Exif data says. One with too many pixels cannot be turned here.
  const isReady = image.orientation === 1 || width * height > maxPixels;
  if (isSmall && isReady) return null;
  if (width * height > maxPixels)
    throw new ExtractionFailure(
      'tooLarge',
      `has ${width} by ${height} pixels, more than the ${maxPixels / 1_000_000} million that are read`,
    );
  if (!shrinkable.includes(image.mediaType))
    throw new ExtractionFailure(
      'tooLarge',
      'is larger than the 3.75 MB and 8,000 pixels a side that models take, and is of a type that cannot be made smaller here',
    );
  const side = isSmall ? limits.side : shrunkSide;
  const bytes = await shrink({ image, target: { side, bytes: limits.bytes, qualities } });
  if (bytes === undefined) throw new ExtractionFailure('tooLarge', 'cannot be made small enough for models');
  return { bytes, mediaType: 'image/jpeg' };
}

/** From the header: nothing may be decoded before the number of pixels is checked. */
async function sizeOf(bytes: Uint8Array): Promise<{ width: number; height: number }> {
  const { imageDimensionsFromData } = await import('image-dimensions');
  const size = imageDimensionsFromData(bytes);
  if (size === undefined) throw new ExtractionFailure('unreadable', 'cannot be read as an image');
  return size;
}

/**
 * In a new worker thread, because WebAssembly memory never shrinks, and the end of the thread releases it.
 * @returns undefined if the result is too large with every quality
 */
async function shrink(work: ShrinkRequest): Promise<Uint8Array | undefined> {
  const thread = new Worker(new URL('shrinking-thread.mjs', import.meta.url), { workerData: work });
  try {
    const [bytes] = (await once(thread, 'message')) as [Uint8Array | undefined];
    return bytes;
  } catch (error) {
    throw new ExtractionFailure('unreadable', 'cannot be read as an image', { cause: error });
  } finally {
    await thread.terminate();
  }
}
