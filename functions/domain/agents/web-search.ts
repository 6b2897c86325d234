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
