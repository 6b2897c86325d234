export interface WebPage {
  /** The final URL, after redirects. */
  url: string;
  /** Empty if the page has none. */
  title: string;
  text: string;
  /** The media type of the response without its parameters, such as `text/html`. */
  contentType: string;
}

export interface WebPages {
  /**
   * Fetches a page and returns it as readable text. Workspaces take turns in the conversion of long pages to text.
   * @param hosts if given, only these hosts are allowed, also in redirects: host names, or `*.` and a parent domain
   * @throws OutboundFailure with the reason, or the signal's reason
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
   * At most `limit` results, best first.
   * @throws OutboundFailure with the reason, or the signal's reason
   */
  search(query: string, limit: number, signal: AbortSignal): Promise<WebSearchResult[]>;
}
