import type { Pagination } from './schema.ts';
import type { ApiPromise, Call, RequestOptions, Transport } from './transport.ts';

/** Iteration yields the elements of the page and of all further pages, which are read as needed. */
export class Page<Item> implements AsyncIterable<Item> {
  readonly data: Item[];
  readonly pagination: Pagination;
  readonly #readNext: (query: object) => Promise<Page<Item>>;

  /** @internal */
  constructor(data: Item[], pagination: Pagination, readNext: (query: object) => Promise<Page<Item>>) {
    this.data = data;
    this.pagination = pagination;
    this.#readNext = readNext;
  }

  hasNextPage(): boolean {
    return this.pagination.next_page !== null;
  }

  /** @returns undefined after the last page */
  async nextPage(): Promise<Page<Item> | undefined> {
    const { next_page } = this.pagination;
    if (next_page === null) return undefined;
    const { searchParams } = new URL(next_page, 'http://unused');
    return await this.#readNext(Object.fromEntries(searchParams));
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for (let page: Page<Item> | undefined = this; page !== undefined; page = await page.nextPage())
      yield* page.data;
  }
}

/** A promise of the requested page, and an async iterable of the elements of this page and of all further ones. */
export interface PagePromise<Item> extends ApiPromise<Page<Item>>, AsyncIterable<Item> {}

export function listPages<Item>(
  { request }: Transport,
  path: string,
  query: object,
  options?: RequestOptions,
  { isPatient = false } = {},
): PagePromise<Item> {
  const readPage = (given: object): ApiPromise<Page<Item>> => {
    const call: Call<Page<Item>> = {
      method: 'GET',
      path,
      query: given,
      isPatient,
      read: ({ data, pagination }) =>
        new Page(data as Item[], pagination as Pagination, (next) => readPage({ ...given, ...next })),
    };
    return request(call, options);
  };
  const first = readPage(query);
  // The request may fail before the iteration, which throws the failure. Until then it must not count as unhandled.
  first.catch(() => undefined);
  return Object.assign(first, {
    async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
      yield* await first;
    },
  });
}
