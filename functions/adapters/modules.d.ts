declare module 'dingbat-to-unicode' {
  /** `code` is hexadecimal. Undefined if no character is known. */
  export function hex(font: string, code: string): { string: string } | undefined;
}

declare module 'word-extractor' {
  interface TextOptions {
    /** Replaces characters such as typographic quotes by plain ones. Default: true. */
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

declare module 'html-encoding-sniffer' {
  /** From the byte order mark, or else the header's charset, the page's own declaration, or `defaultEncoding`. */
  export default function htmlEncodingSniffer(
    bytes: Uint8Array,
    options: { xml?: boolean; transportLayerEncodingLabel?: string | undefined; defaultEncoding?: string },
  ): string;
}

/** esbuild bundles the file as its bytes. */
declare module '*.wasm' {
  const bytes: Uint8Array<ArrayBuffer>;
  export default bytes;
}

/** Node.js has WebAssembly, but only the types of browsers declare it. */
declare namespace WebAssembly {
  const Module: new (bytes: Uint8Array<ArrayBuffer>) => Module;
}
