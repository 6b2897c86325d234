export interface ImageFitter {
  /**
   * An image as models take it: no more bytes and pixels than the smallest limit of the providers.
   * @returns null when the image is so already
   * @throws ExtractionFailure when it cannot be made so
   */
  fit(image: {
    bytes: Uint8Array;
    mediaType: string;
  }): Promise<{ bytes: Uint8Array; mediaType: string } | null>;
}
