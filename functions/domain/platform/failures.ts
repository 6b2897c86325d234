/**
 * `throttled`: also for status 529, and for an error with `overloaded` in its name. `tooLong`: also for a request that
 * is larger than the provider accepts. `refused`: a retry would not help.
 */
export type ModelFailureKind = 'throttled' | 'unavailable' | 'tooLong' | 'refused' | 'failed';

/** Without the provider's own message, because this error is logged and the message may quote the prompt. */
export class ModelFailure extends Error {
  override readonly name = 'ModelFailure';
  readonly kind: ModelFailureKind;
  /** Milliseconds; undefined if the provider does not say. */
  readonly retryAfter: number | undefined;
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

export const modelFailureTexts: Readonly<Record<ModelFailureKind, string>> = {
  throttled: 'The model is busy: try again later',
  unavailable: 'The model cannot be reached: try again later',
  tooLong: 'The message is too long for the model',
  refused: 'The model refused the request',
  failed: 'The model could not complete the reply',
};

/** Models and clients may see the message. */
export class OutboundFailure extends Error {
  override readonly name = 'OutboundFailure';
  readonly kind: OutboundFailureKind;

  constructor(
    kind: OutboundFailureKind,
    message: string = outboundFailureTexts[kind],
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.kind = kind;
  }
}

export type OutboundFailureKind = keyof typeof outboundFailureTexts;

const outboundFailureTexts = {
  malformed:
    'The address must be an http or https URL without a user name and password, blanks and backslashes',
  forbidden: 'The address is not allowed',
  unlisted: 'The host is not on the list of hosts that may be reached',
  unresolved: 'The host name does not resolve',
  unreachable: 'The server cannot be reached',
  untrusted: "The server's certificate is not valid for this address",
  broken: "The server's answer is not valid HTTP",
  'too-large': 'The answer is too large',
  redirects: 'There are too many redirects',
  timeout: 'It took too long',
  refused: 'The server rejected the request',
  unreadable: 'The answer cannot be read as text',
  unauthorized: 'The server rejects the credentials of this tool',
  protocol: "The server's answer is not what its protocol says",
  changed: 'The server has no such tool any more',
} as const;

/** Something cannot be stored, such as an item that is too large. A retry would not help. */
export class NotStorable extends Error {
  override readonly name = 'NotStorable';
}

export const notStored = 'The reply could not be stored';
