/**
 * - throttled: the provider asks for fewer calls.
 * - unavailable: the provider cannot be reached or is down.
 * - tooLong: the request is longer than the model's context window.
 * - refused: the provider rejects this request, for its content or for the key; a retry would not help.
 * - failed: anything else, such as a response that ends too early.
 */
export type ModelFailureKind = 'throttled' | 'unavailable' | 'tooLong' | 'refused' | 'failed';

/** A failure without the provider's own message: that may quote the prompt, and this error is logged. */
export class ModelFailure extends Error {
  override readonly name = 'ModelFailure';
  readonly kind: ModelFailureKind;
  /** Milliseconds that the provider asks to wait; undefined if it does not say. */
  readonly retryAfter: number | undefined;
  /** The provider rejects what the request contains: the same content would be rejected again. */
  readonly isOfContent: boolean;

  constructor(
    kind: ModelFailureKind,
    message: string,
    retryAfter?: number,
    isOfContent = kind === 'tooLong',
  ) {
    super(message);
    this.kind = kind;
    this.retryAfter = retryAfter;
    this.isOfContent = isOfContent;
  }
}

/** The error messages that clients see. */
export const modelFailureTexts: Readonly<Record<ModelFailureKind, string>> = {
  throttled: 'The model is busy: try again later',
  unavailable: 'The model cannot be reached: try again later',
  tooLong: 'The message is too long for the model',
  refused: 'The model refused the request',
  failed: 'The model could not complete the reply',
};
