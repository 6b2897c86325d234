export interface WebhookSender {
  /** Why nothing is ever sent to a URL. Null when it may be, or when its host name does not resolve now. */
  rejectionOf(url: string): Promise<string | null>;
  /** One POST, to an address that was checked a moment before; a redirect is an answer as any other. @throws OutboundFailure */
  post(
    url: string,
    call: { headers: Readonly<Record<string, string>>; body: string },
  ): Promise<WebhookResponse>;
}

export interface WebhookResponse {
  status: number;
  /** Milliseconds that the receiver wants to be left alone. */
  retryAfter: number | null;
}
