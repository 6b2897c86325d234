export type ExtractionFailureKind =
  /** The format is not supported. */
  | 'unsupported'
  /** The file is broken, or its format differs from its extension. */
  | 'unreadable'
  /** The file, or its expanded content, exceeds a limit. */
  | 'tooLarge'
  | 'tooSlow'
  | 'encrypted'
  /** The file contains no text, for example a scanned page. */
  | 'empty';

/** Why a document could not be read. The message is a phrase that follows the file's name, such as `has no text`. */
export class ExtractionFailure extends Error {
  override readonly name = 'ExtractionFailure';
  readonly kind: ExtractionFailureKind;

  constructor(kind: ExtractionFailureKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}
