import * as z from 'zod';
import type { TextWorker } from '#adapters/text-thread/text-worker.ts';
import { isHttpUrl } from '#contract/urls.ts';
import type { WebPage, WebPages, WebSearch, WebSearchResult } from '#domain/agents/agents.ts';
import { OutboundFailure } from '#domain/platform/failures.ts';
import { jsonIn } from '#domain/platform/parse-json.ts';
import { untilAborted } from '#domain/platform/promises.ts';
import type { OutboundRules } from './addresses.ts';
import { readableHtml } from './readable-html.ts';
import { sendOutbound } from './send-outbound.ts';

/** The times are milliseconds. `whole` includes the conversion to text. */
const pageLimits = { times: { response: 8000, whole: 15_000 }, maxBytes: 5_000_000, redirects: 5 };

export const httpWebPages = (rules: OutboundRules, textWorker: TextWorker): WebPages => ({
  async read(workspaceId, address, hosts, signal): Promise<WebPage> {
    const timeout = AbortSignal.timeout(pageLimits.times.whole);
    if (!isHttpUrl(address)) throw new OutboundFailure('malformed');
    const url = new URL(address);
    url.hash = '';
    const response = await sendOutbound({
      url,
      method: 'GET',
      headers: {
        Accept: 'text/html, application/xhtml+xml, text/*;q=0.9, application/json;q=0.9, */*;q=0.5',
        'User-Agent': 'Mozilla/5.0 (compatible; agent-service)',
      },
      rules: { ...rules, hosts },
      ...pageLimits,
      signal,
    });
    if (response.status < 200 || response.status > 299)
      throw new OutboundFailure('refused', `The server answered with status ${response.status}`);
    const ended = AbortSignal.any([signal, timeout]);
    const { headers, body, url: found } = response;
    const page = await untilAborted(
      textWorker.run(
        workspaceId,
        { type: 'read page', header: headers['content-type'], body, address: found.href },
        ended,
      ),
      ended,
    ).catch((error: unknown) => {
      signal.throwIfAborted();
      throw timeout.aborted ? new OutboundFailure('timeout') : error;
    });
    return { url: response.url.href, ...page };
  },
});

/** The times are milliseconds. A search usually takes 2 s; 10 s let SearXNG wait for a slow search engine. */
const searchLimits = { times: { response: 10_000, whole: 10_000 }, maxBytes: 2_000_000 };

const snippetCharacters = 1000;

const snippetHtmlCharacters = 20_000;

const searxngResponse = z.object({
  results: z.array(z.object({ title: z.string(), url: z.string(), content: z.string().nullish() })),
});

/** @param address with or without `/search`. The settings of the instance must allow the format `json` */
export const searxng = (address: string): WebSearch => ({
  async search(query, count, signal) {
    const url = new URL(address);
    if (!url.pathname.endsWith('/search')) url.pathname = `${url.pathname.replace(/\/$/, '')}/search`;
    url.searchParams.set('q', query);
    url.searchParams.set('format', 'json');
    const { results } = await readJson(searxngResponse, url, signal);
    return results
      .slice(0, count)
      .map(({ title, url: found, content }) => resultOf(title, found, content ?? ''));
  },
});

const braveResponse = z.object({
  // The field is absent if there are no results.
  web: z
    .object({
      results: z.array(z.object({ title: z.string(), url: z.string(), description: z.string().nullish() })),
    })
    .nullish(),
});

export const braveSearch = (address: string, apiKey: () => Promise<string>): WebSearch => ({
  async search(query, count, signal) {
    const url = new URL(address);
    url.searchParams.set('q', query);
    url.searchParams.set('count', String(count));
    const headers = { 'X-Subscription-Token': await apiKey() };
    const { web } = await readJson(braveResponse, url, signal, headers);
    // Brave returns HTML: matched words in <strong>, apostrophes as entities.
    const plain = (html: string) => readableHtml(html.slice(0, snippetHtmlCharacters), url).text;
    return (web?.results ?? [])
      .slice(0, count)
      .map(({ title, url: found, description }) => resultOf(plain(title), found, plain(description ?? '')));
  },
});

const resultOf = (title: string, url: string, content: string): WebSearchResult => ({
  title: shortened(title),
  url,
  snippet: shortened(content),
});

const shortened = (text: string): string =>
  text.length <= snippetCharacters ? text : `${text.slice(0, snippetCharacters - 1).toWellFormed()}…`;

/** @param url of a service that an operator has configured: it is not checked */
async function readJson<Value>(
  schema: z.ZodType<Value>,
  url: URL,
  signal: AbortSignal,
  headers: Record<string, string> = {},
): Promise<Value> {
  const { status, body } = await sendOutbound({
    ...{ url, method: 'GET', rules: undefined, redirects: 0, ...searchLimits, signal },
    headers: { Accept: 'application/json', ...headers },
  });
  if (status === 429) throw new OutboundFailure('refused', 'The service takes no more requests for now');
  if (status !== 200) throw new OutboundFailure('refused', `The service answered with status ${status}`);
  const response = schema.safeParse(jsonIn(Buffer.from(body).toString()));
  if (!response.success)
    throw new OutboundFailure('unreadable', "The service's answer is not what it should be");
  return response.data;
}
