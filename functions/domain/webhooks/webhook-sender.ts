export interface WebhookSender {
  /** Why a URL is forbidden. Null if it is allowed, or if its host name does not resolve now. */
  rejectionOf(url: string): Promise<string | null>;
  /**
   * Sends one POST to an address that was just checked. Does not follow redirects: a 3xx is returned like any response.
   * @throws OutboundFailure
   */
  post(
    url: string,
    call: { headers: Readonly<Record<string, string>>; body: string },
  ): Promise<WebhookResponse>;
}

export interface WebhookResponse {
  status: number;
  /** The receiver's `Retry-After` in milliseconds. */
  retryAfter: number | null;
}
