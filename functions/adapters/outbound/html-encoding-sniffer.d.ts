declare module 'html-encoding-sniffer' {
  /** The encoding's name for TextDecoder, from the byte order mark, the header's charset or the page's <meta>. */
  export default function htmlEncodingSniffer(
    bytes: Uint8Array,
    options: { xml?: boolean; transportLayerEncodingLabel?: string | undefined; defaultEncoding?: string },
  ): string;
}
