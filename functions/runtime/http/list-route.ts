import { once } from 'node:events';
import { paginate } from '#contract/pagination.ts';
import type { Pagination } from '#contract/pagination-object.ts';
import { bytesPerToken } from '#contract/rate-limits.ts';
import type { Route } from '#contract/routes/route.ts';
import type { CheckUsers, ValidRequest } from './read-request.ts';
import { streamedRoute } from './streamed-route.ts';

interface Listing<Item> {
  pages: AsyncIterable<Item[]> | Iterable<Item[]>;
  /** Number of all matching items; undefined for a list without pagination. */
  total?: number;
}

/** The Lambda handler of a list. It writes the envelope page by page, as fast as the client reads. */
export const listRoute = <R extends Route, Item>(
  route: R,
  list: (request: ValidRequest<R>) => Promise<Listing<Item>>,
  options: { checkUsers?: CheckUsers } = {},
) =>
  streamedRoute(
    route,
    async (request, open, { awaitRateLimit, charge }) => {
      const { pages, total } = await list(request);
      const items = writeItems(pages);
      const pagination = total === undefined ? undefined : await paginationOf(request, total);
      // The first page is read before the status is sent, so that an error until then gets its own status.
      let text = await items.next();
      await awaitRateLimit();
      const stream = open();
      const write = async (part: string): Promise<void> => {
        charge({ downloadedMegabytes: Buffer.byteLength(part) / bytesPerToken });
        if (!stream.write(part)) await once(stream, 'drain');
      };
      for (; text.done !== true; text = await items.next()) await write(text.value);
      await write(endOfEnvelope(pagination));
    },
    options,
  );

async function* writeItems<Item>(pages: Listing<Item>['pages']): AsyncGenerator<string> {
  let separator = '{"data":[';
  for await (const page of pages)
    if (page.length > 0) {
      yield separator + page.map((item) => JSON.stringify(item)).join(',');
      separator = ',';
    }
  if (separator !== ',') yield separator;
}

const endOfEnvelope = (pagination: Pagination | undefined): string =>
  `],"message":null,"error_code":0${pagination === undefined ? '' : `,"pagination":${JSON.stringify(pagination)}`}}`;

const paginationOf = async (
  request: { query: object; address: () => Promise<URL> },
  total: number,
): Promise<Pagination> => {
  const { limit, offset } = request.query as { limit: number; offset: number };
  return paginate({ limit, offset, total, address: await request.address() });
};
