export interface WebSearchResult {
  title: string;
  url: string;
  snippet: string;
}

export interface WebSearch {
  /**
   * The first results, at most so many, best first.
   * @throws OutboundFailure telling why there are none, or the signal's reason
   */
  search(query: string, count: number, signal: AbortSignal): Promise<WebSearchResult[]>;
}
