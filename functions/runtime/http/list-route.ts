import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { paginate } from '#contract/pagination.ts';
import type { Pagination } from '#contract/pagination-object.ts';
import type { Route } from '#contract/routes/route.ts';
import type { AdmitUsers, ValidRequest } from './read-request.ts';
import { streamedRoute } from './streamed-route.ts';

interface Listing<Row> {
  pages: AsyncIterable<Row[]> | Iterable<Row[]>;
  /** Of all rows that match; undefined on a list without pages. */
  total?: number;
}

/** The Lambda of a list: its envelope is written page by page, as fast as the client reads. */
export const listRoute = <R extends Route, Row>(
  route: R,
  list: (request: ValidRequest<R>) => Promise<Listing<Row>>,
  options: { admitUsers?: AdmitUsers } = {},
) =>
  streamedRoute(
    route,
    async (request, open) => {
      const { pages, total } = await list(request);
      const rows = writeRows(pages);
      const pagination = total === undefined ? undefined : await paginationOf(request, total);
      // The first piece is read before the status is sent: what fails until then is answered with its error.
      let piece = await rows.next();
      await request.admitted;
      const stream = open();
      for (; piece.done !== true; piece = await rows.next()) await write(stream, piece.value);
      await write(stream, endOfEnvelope(pagination));
    },
    options,
  );

async function* writeRows<Row>(pages: Listing<Row>['pages']): AsyncGenerator<string> {
  let separator = '{"data":[';
  for await (const page of pages)
    if (page.length > 0) {
      yield separator + page.map((row) => JSON.stringify(row)).join(',');
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

async function write(stream: Writable, piece: string): Promise<void> {
  if (!stream.write(piece)) await once(stream, 'drain');
}
