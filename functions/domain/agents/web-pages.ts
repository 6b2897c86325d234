export interface WebPage {
  /** After redirects. */
  url: string;
  /** Empty if the page has none. */
  title: string;
  text: string;
  /** Without parameters, such as `text/html`. */
  contentType: string;
}

export interface WebPages {
  /**
   * @param hosts in lower case; if given, the only allowed ones, for redirects too. `*.` and a domain stands for each
   *   host below it
   * @throws OutboundFailure with the reason, the signal's reason, or an internal error
   */
  read(
    workspaceId: string,
    url: string,
    hosts: readonly string[] | undefined,
    signal: AbortSignal,
  ): Promise<WebPage>;
}

export interface WebSearchResult {
  title: string;
  url: string;
  snippet: string;
}

export interface WebSearch {
  /**
   * Best first.
   * @throws OutboundFailure with the reason, the signal's reason, or an internal error
   */
  search(query: string, limit: number, signal: AbortSignal): Promise<WebSearchResult[]>;
}
