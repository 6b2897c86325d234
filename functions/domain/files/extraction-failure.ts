export type ExtractionFailureKind =
  /** No format that is known here. */
  | 'unsupported'
  /** Broken, or not of the format that its name says. */
  | 'unreadable'
  /** The file, or what it expands to, is beyond a bound. */
  | 'tooLarge'
  | 'tooSlow'
  | 'encrypted'
  /** There is no text in it, such as in a scanned page. */
  | 'empty';

/** Why a document gave no text, in words that go behind its name. */
export class ExtractionFailure extends Error {
  override readonly name = 'ExtractionFailure';
  readonly kind: ExtractionFailureKind;

  constructor(kind: ExtractionFailureKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}
