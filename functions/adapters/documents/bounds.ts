/** Limits for reading a document. */
export const bounds = {
  /** The limit of an upload (specification, section 8). */
  fileBytes: 50 * 1024 * 1024,
  /** Uncompressed size of each part that is read. */
  partBytes: 50 * 1024 * 1024,
  /** Uncompressed size of all parts together: about 10,000 pages of text with markup. */
  partsBytes: 100 * 1024 * 1024,
  /** Far more parts than an office document has. Each entry costs time, even if it is not unpacked. */
  parts: 20_000,
  /** A page takes 1 to 20 ms to read, so 5,000 pages take 5 to 100 s. */
  pages: 5000,
  /**
   * More than the 10 MB of text that a workspace's knowledge may have: the knowledge rejects such texts with a better
   * message.
   */
  characters: 20 * 1024 * 1024,
} as const;
