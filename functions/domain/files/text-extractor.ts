export interface SourceDocument {
  /** Its extension determines the format. */
  name: string;
  /** Determines the format if the extension is unknown. */
  contentType?: string;
  bytes: Uint8Array;
}

export interface ExtractedText {
  text: string;
  contentType: string;
  /** Where each page or slide starts in the text; empty for a format without pages. */
  pageOffsets: number[];
  /**
   * What the text lacks of the document, or what is uncertain in it. Each is a phrase, such as `left out: 2 pictures` or
   * `page 2 cannot be read`. Missing if there is nothing to say.
   */
  notices?: readonly string[];
}

export interface TextExtractor {
  /**
   * The readable text of a document. Never fetches what the document links to.
   * @throws ExtractionFailure
   */
  extract(document: SourceDocument, signal?: AbortSignal): Promise<ExtractedText>;
}
