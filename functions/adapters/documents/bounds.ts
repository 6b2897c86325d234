/** Limits for reading a document. */
export const bounds = {
  /** The limit of an upload (specification, section 8). */
  fileBytes: 50 * 1024 * 1024,
  /** Uncompressed size of each part that is read. */
  partBytes: 50 * 1024 * 1024,
  /** Of all parts that are read: about 10,000 pages of text with markup. */
  partsBytes: 100 * 1024 * 1024,
  /** Far more parts than an office document has. Each entry costs time, even if it is not unpacked. */
  parts: 20_000,
  /** A page takes 1 to 20 ms. */
  pages: 5000,
  /** Above the 10 MB of text that a workspace may have: such texts are rejected there, with a better message. */
  characters: 20 * 1024 * 1024,
} as const;
