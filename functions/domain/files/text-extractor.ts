export interface SourceDocument {
  /** Its extension tells the format. */
  name: string;
  /** Tells it when the name has no extension that is known. */
  contentType?: string;
  bytes: Uint8Array;
}

export interface ExtractedText {
  text: string;
  contentType: string;
  /** Where each page or slide begins in the text; empty for a format without pages. */
  pageOffsets: number[];
}

export interface TextExtractor {
  /**
   * The text of a document as people read it. Nothing that the document refers to is fetched.
   * @throws ExtractionFailure
   */
  extract(document: SourceDocument, signal?: AbortSignal): Promise<ExtractedText>;
}
