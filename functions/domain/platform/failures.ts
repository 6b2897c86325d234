/**
 * How a model has failed.
 * - throttled: the provider asks for fewer calls, or is overloaded.
 * - unavailable: the provider cannot be reached, is down, or breaks off its response.
 * - tooLong: the request is longer than the model's context window, or larger than the provider accepts.
 * - refused: the provider rejects this request, for example for its content or for the key; a retry would not help.
 * - failed: anything else, such as a response without a regular end.
 */
export type ModelFailureKind = 'throttled' | 'unavailable' | 'tooLong' | 'refused' | 'failed';

/**
 * A failure of a model. It does not contain the provider's own message, because this error is logged and the message
 * may quote the prompt.
 */
export class ModelFailure extends Error {
  override readonly name = 'ModelFailure';
  readonly kind: ModelFailureKind;
  /** Milliseconds that the provider asks to wait; undefined if it does not say. */
  readonly retryAfter: number | undefined;
  /** Whether the provider rejects the content of the request. */
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

/** Texts for clients about a failure of a model, by its kind. */
export const modelFailureTexts: Readonly<Record<ModelFailureKind, string>> = {
  throttled: 'The model is busy: try again later',
  unavailable: 'The model cannot be reached: try again later',
  tooLong: 'The message is too long for the model',
  refused: 'The model refused the request',
  failed: 'The model could not complete the reply',
};

/**
 * A request to the outside that failed, or that may not be sent. The message is for the one who has named the address
 * or the function.
 */
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

/** Why a request failed. `forbidden` and `unlisted`: this service may not send it. */
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

/**
 * The table cannot store something: an item that is too large, for example, or a chat for which the workspace has no
 * further id. A retry would not help.
 */
export class NotStorable extends Error {
  override readonly name = 'NotStorable';
}

/** The error message that clients see if a reply could not be stored. */
export const notStored = 'The reply could not be stored';
