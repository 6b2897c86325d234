export interface WebPage {
  /** Where it was found in the end. */
  url: string;
  /** Empty when it has none. */
  title: string;
  text: string;
  /** Without parameters, such as text/html. */
  contentType: string;
}

export interface WebPages {
  /**
   * A page as readable text.
   * @param hosts when given, only these are reached, also by redirects: names, or `*.` and the name that they end in
   * @throws OutboundFailure telling why there is none, or the signal's reason
   */
  read(url: string, hosts: readonly string[] | undefined, signal: AbortSignal): Promise<WebPage>;
}
