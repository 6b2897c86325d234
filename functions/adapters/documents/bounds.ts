/** What reading a document may take, each with its reason. */
export const bounds = {
  /** As an upload (specification, section 8). */
  fileBytes: 50 * 1024 * 1024,
  /** Of an archive's parts that are read, unpacked: the text of some 10,000 pages with its markup. */
  partBytes: 50 * 1024 * 1024,
  partsBytes: 100 * 1024 * 1024,
  /** Far more than an office document has; each costs time before any is unpacked. */
  parts: 20_000,
  /** A page takes 1 to 20 ms. */
  pages: 5000,
  /** Ten megabytes of text is what a workspace may have; more is refused there with its own words. */
  characters: 20 * 1024 * 1024,
} as const;
