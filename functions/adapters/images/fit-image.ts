import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { ExtractionFailure } from '#domain/files/extraction-failure.ts';
import type { ImageFitter } from '#domain/files/image-fitter.ts';
import type { Shrinking } from './shrink-image.ts';

/** Amazon Bedrock's limits of an image, the smallest of the providers: 3.75 MB, and 8,000 pixels a side. */
const most = { bytes: 3.75 * 1024 * 1024, side: 8000 };

/** What is too large becomes so: providers look at no more than some 1,600 to 2,048 pixels a side anyway. */
const shrunkSide = 2048;
/** The first is seldom too large for so many pixels; the others are for noise. */
const qualities = [85, 70, 50];

/** At four bytes a pixel 200 MB, which a decoder and a resizer hold five times: half of the function's memory. */
const pixelsRead = 50_000_000;

/** Of the types that uploads may have, all but GIF, for which there is no codec. */
const shrinkable = ['image/jpeg', 'image/png', 'image/webp'];

export const imageFitter: ImageFitter = {
  async fit(image) {
    const { width, height } = await sizeOf(image.bytes);
    if (image.bytes.length <= most.bytes && Math.max(width, height) <= most.side) return null;
    if (width * height > pixelsRead)
      throw new ExtractionFailure(
        'tooLarge',
        `has ${width} by ${height} pixels, more than the ${pixelsRead / 1_000_000} million that are read`,
      );
    if (!shrinkable.includes(image.mediaType))
      throw new ExtractionFailure(
        'tooLarge',
        'is larger than the 3.75 MB and 8,000 pixels a side that models take, and is of a type that cannot be made smaller here',
      );
    const bytes = await shrink({ image, most: { side: shrunkSide, bytes: most.bytes, qualities } });
    if (bytes === undefined)
      throw new ExtractionFailure('tooLarge', 'cannot be made as small as models take images');
    return { bytes, mediaType: 'image/jpeg' };
  },
};

/** As its header tells, before anything is unpacked. */
async function sizeOf(bytes: Uint8Array): Promise<{ width: number; height: number }> {
  const { imageSize } = await import('image-size');
  try {
    return imageSize(bytes);
  } catch (error) {
    throw new ExtractionFailure('unreadable', 'cannot be read as an image', { cause: error });
  }
}

/** In a thread of its own, whose end gives back its memory: that of WebAssembly only grows. */
async function shrink(work: Shrinking): Promise<Uint8Array | undefined> {
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
