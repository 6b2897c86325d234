/** How many bytes of a file's beginning tell what it is: text with a binary tail shows itself within a page. */
export const bytesToDetect = 4096;

export interface ContentDetector {
  /** The types that a file with this beginning may have, the likeliest first; none when its bytes tell nothing. */
  detect(start: Uint8Array): string[];
}
