import type { TextWorker } from '#adapters/text-thread/text-worker.ts';
import { isHttpUrl } from '#contract/urls.ts';
import type { WebPage, WebPages } from '#domain/agents/agents.ts';
import { OutboundFailure } from '#domain/platform/failures.ts';
import { untilAborted } from '#domain/platform/promises.ts';
import type { OutboundRules } from './addresses.ts';
import { sendOutbound } from './send-outbound.ts';

/** The times are milliseconds. `whole` includes the conversion to text. */
const limits = { times: { response: 8000, whole: 15_000 }, maxBytes: 5_000_000, redirects: 5 };

export const httpWebPages = ({
  rules,
  textWorker,
}: {
  rules: OutboundRules;
  textWorker: TextWorker;
}): WebPages => ({
  async read(workspaceId, address, hosts, signal): Promise<WebPage> {
    const timeout = AbortSignal.timeout(limits.times.whole);
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
      ...limits,
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
