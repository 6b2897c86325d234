/** Maximum size of a prepared image: Amazon Bedrock's limit, the smallest of all providers. */
export const preparedImageBytes = 3.75 * 1024 * 1024;

export interface ImageFitter {
  /**
   * Shrinks an image to the smallest limits of all providers, in bytes and in pixels, turns it upright, and takes the first
   * frame of an animated one.
   * @returns null if models can get the image as it is
   * @throws ExtractionFailure if the image cannot be shrunk
   */
  fit(image: {
    bytes: Uint8Array;
    mediaType: string;
  }): Promise<{ bytes: Uint8Array; mediaType: string; notices?: readonly string[] } | null>;
}
