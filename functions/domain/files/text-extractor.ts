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
}

export interface TextExtractor {
  /**
   * The readable text of a document. Never fetches what the document links to.
   * @throws ExtractionFailure
   */
  extract(document: SourceDocument, signal?: AbortSignal): Promise<ExtractedText>;
}
