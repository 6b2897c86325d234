declare module 'html-encoding-sniffer' {
  /** The name of an encoding, as TextDecoder takes it: from the byte order mark, the header's label, the page's own word. */
  export default function htmlEncodingSniffer(
    bytes: Uint8Array,
    options: { xml?: boolean; transportLayerEncodingLabel?: string | undefined; defaultEncoding?: string },
  ): string;
}
