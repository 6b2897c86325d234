/**
 * throttled: the provider asks for fewer calls; unavailable: it could not be reached or is down; tooLong: the request is
 * longer than the model's context window; refused: the provider will not take this request, however often it is sent;
 * failed: anything else, such as an answer that breaks off.
 */
export type ModelFailureKind = 'throttled' | 'unavailable' | 'tooLong' | 'refused' | 'failed';

/** A model's failure without its words: what a provider answers may quote the prompt, and this is logged. */
export class ModelFailure extends Error {
  override readonly name = 'ModelFailure';
  readonly kind: ModelFailureKind;
  /** Milliseconds that the provider asks to wait, when it says so. */
  readonly retryAfter: number | undefined;

  constructor(kind: ModelFailureKind, message: string, retryAfter?: number) {
    super(message);
    this.kind = kind;
    this.retryAfter = retryAfter;
  }
}

/** What clients read of it. */
export const modelFailureTexts: Readonly<Record<ModelFailureKind, string>> = {
  throttled: 'The model is busy: try again later',
  unavailable: 'The model cannot be reached: try again later',
  tooLong: 'The message is too long for the model',
  refused: 'The model refused the request',
  failed: 'The model could not complete the reply',
};
