import type { IncomingMessage, ServerResponse } from 'node:http';
import { flatHeaders } from '../gateway/response-headers.ts';

// HTTPStatusCodes.html and custom-error-pages-expiration.html in CloudFront's developer guide.
const DEFAULT_SECONDS = 10;

const ALWAYS_CACHED = new Set([404, 405, 410, 414, 500, 501, 502, 503, 504]);

const CACHED_WITH_MAX_AGE = new Set([400, 403, 412, 415]);

const OBEYS_NO_STORE = new Set([404, 410, 414, 501]);

interface CachedError {
  readonly head: ResponseHead;
  readonly body: Buffer;
  readonly isHeadResponse: boolean;
  readonly expiresAt: number;
}

interface ResponseHead {
  readonly status: number;
  /** Names and values, alternating. */
  readonly headers: readonly string[];
}

/**
 * By AWS's guide, CloudFront caches no errors with the cache policy CachingDisabled. This function assumes the worse:
 * that it does. By that policy, the key is the path alone, and `max-age` does not extend the time.
 * @param minimumSeconds `ErrorCachingMinTTL` by status; 10 s for a status that is missing
 */
export function createErrorCache(minimumSeconds: ReadonlyMap<number, number>) {
  const errors = new Map<string, CachedError>();

  function secondsOf({ status, headers }: ResponseHead): number {
    const cacheControl = headers
      .filter((_, index) => headers[index - 1]?.toLowerCase() === 'cache-control' && index % 2 === 1)
      .join();
    const isCached =
      ALWAYS_CACHED.has(status) ||
      (CACHED_WITH_MAX_AGE.has(status) && /\b(s-maxage|max-age)=/i.test(cacheControl));
    const isForbidden = OBEYS_NO_STORE.has(status) && /\b(no-store|no-cache|private)\b/i.test(cacheControl);
    return isCached && !isForbidden ? (minimumSeconds.get(status) ?? DEFAULT_SECONDS) : 0;
  }

  return {
    /** Returns false if it sends nothing: then the origin must respond. */
    respond(request: IncomingMessage, path: string, response: ServerResponse): boolean {
      const isHead = request.method === 'HEAD';
      if (!isHead && request.method !== 'GET') return false;
      const cached = errors.get(path);
      if (cached !== undefined && cached.expiresAt <= Date.now()) errors.delete(path);
      else if (cached !== undefined && (isHead || !cached.isHeadResponse)) {
        response.writeHead(cached.head.status, [...cached.head.headers]).end(cached.body);
        return true;
      }
      onError(response, secondsOf, (head, body, seconds) => {
        errors.set(path, { head, body, isHeadResponse: isHead, expiresAt: Date.now() + seconds * 1000 });
      });
      return false;
    },
  };
}

type WriteHead = (status: number, ...rest: unknown[]) => ServerResponse;
type Write = (chunk?: unknown, ...rest: unknown[]) => unknown;

function onError(
  response: ServerResponse,
  secondsOf: (head: ResponseHead) => number,
  cache: (head: ResponseHead, body: Buffer, seconds: number) => void,
): void {
  const chunks: Buffer[] = [];
  const writeHead = response.writeHead.bind(response) as WriteHead;
  response.writeHead = ((status, ...rest) => {
    const given = rest.at(-1);
    const head = { status, headers: [...flatHeaders(response.getHeaders()), ...flatHeaders(given)] };
    const seconds = secondsOf(head);
    if (seconds > 0) {
      collect(response, chunks);
      response.once('finish', () => cache(head, Buffer.concat(chunks), seconds));
    }
    return writeHead(status, ...rest);
  }) as typeof response.writeHead;
}

function collect(response: ServerResponse, chunks: Buffer[]): void {
  for (const name of ['write', 'end'] as const) {
    const send = response[name].bind(response) as Write;
    response[name] = ((chunk, ...rest) => {
      if (typeof chunk === 'string' || chunk instanceof Uint8Array) chunks.push(Buffer.from(chunk as string));
      return send(chunk, ...rest);
    }) as Write as never;
  }
}
