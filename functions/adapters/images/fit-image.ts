import { ExtractionFailure } from '#domain/extraction-failure.ts';
import type { ImageFitter } from '#domain/ports/image-fitter.ts';

/** Amazon Bedrock's limit of an image, the smallest of the providers: 3.75 MB. */
const imageBytes = 3.75 * 1024 * 1024;

export const imageFitter: ImageFitter = {
  async fit({ bytes }) {
    if (bytes.length <= imageBytes) return null;
    throw new ExtractionFailure('tooLarge', 'is larger than the 3.75 MB that models take of an image');
  },
};
