/** A part of a multipart form. Parts come in the order of the body. */
export type UploadPart =
  | {
      kind: 'file';
      /** Undefined if the part has no file name. */
      name: string | undefined;
      contentType: string | undefined;
      content: AsyncIterable<Uint8Array>;
    }
  | { kind: 'data'; text: string };
