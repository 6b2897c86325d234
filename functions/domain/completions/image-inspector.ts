export interface ImageInspector {
  /**
   * Reads what an image is from its first bytes and its header, and decodes nothing.
   * @returns undefined if the bytes are no image
   */
  inspect(bytes: Uint8Array): Promise<{ mediaType: string; width: number; height: number } | undefined>;
}
