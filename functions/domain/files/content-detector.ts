/** How many bytes from a file's start are checked: within 4 KB, binary data after some leading text is found too. */
export const bytesToDetect = 4096;

export interface ContentDetector {
  /** The types that a file with these first bytes may have, the likeliest first; empty if they are unknown. */
  detect(start: Uint8Array): string[];
}
