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
  /** Levels of elements in XML. Office programs write less than 100; a table in a table takes 3. */
  depth: 10_000,
  /** Levels of documents in a document. Each has its unpacked parts in memory. */
  documents: 3,
  /** Levels of parts in a part, such as a chart on a slide. Real documents have 2. */
  partLevels: 10,
  /** A page takes 1 to 20 ms to read, so 5,000 pages take 5 to 100 s. */
  pages: 5000,
  /**
   * More than the 10 MB of text that a workspace's knowledge may have: the knowledge rejects such texts with a better
   * message.
   */
  characters: 20 * 1024 * 1024,
} as const;
