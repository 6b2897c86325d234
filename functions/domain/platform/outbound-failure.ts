/** A request to an address that a user, agent or operator named has failed. The message is written for them. */
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

/** `forbidden` and `unlisted` are permanent: a retry would fail too. */
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
} as const;
