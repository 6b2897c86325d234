/** What a form is made of, in the order of the body. */
export type UploadPart =
  | {
      kind: 'file';
      /** Undefined when the part tells none. */
      name: string | undefined;
      contentType: string | undefined;
      content: AsyncIterable<Uint8Array>;
    }
  | { kind: 'data'; text: string };
