declare module 'word-extractor' {
  interface TextOptions {
    /** Replaces typographic quotes by plain ones. Default: true. */
    filterUnicode?: boolean;
  }
  interface WordDocument {
    getBody(options?: TextOptions): string;
    getFootnotes(options?: TextOptions): string;
    getEndnotes(options?: TextOptions): string;
    getTextboxes(
      options?: TextOptions & { includeBody?: boolean; includeHeadersAndFooters?: boolean },
    ): string;
  }
  export default class WordExtractor {
    extract(source: string | Buffer): Promise<WordDocument>;
  }
}
