import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { type PageEnds, paginate } from '#contract/pagination.ts';
import type { Route } from '#contract/routes/route.ts';
import { tooManyOpen } from '#domain/platform/shares.ts';
import { shares } from '#runtime/composition/services.ts';
import { lambdaRoute } from './lambda-route.ts';
import type { CheckUsers, ValidRequest } from './request.ts';
import { envelopeForm, type ResponseForm } from './response-form.ts';

interface Listing<Item> {
  pages: AsyncIterable<Item[]> | Iterable<Item[]>;
  total?: number;
  ends?: PageEnds | undefined;
}

/** Calls `list` after the check of the rate limit, because a page may cost far more than the check. */
export const listRoute = <R extends Route, Item>(
  route: R,
  list: (request: ValidRequest<R>) => Promise<Listing<Item>>,
  { form = envelopeForm, ...options }: { checkUsers?: CheckUsers; form?: ResponseForm } = {},
) =>
  lambdaRoute(
    route,
    async (request, { open, awaitRateLimit }) => {
      await awaitRateLimit();
      const { pages, total, ends } = await list(request);
      const items = writeItems(form.listStart, pages);
      const { limit, offset } = request.query as { limit: number; offset: number };
      const pagination =
        total === undefined
          ? undefined
          : paginate({ limit, offset, total, ends, address: await request.address() });
      // An error until the first page gets its own status.
      let text = await items.next();
      const reader = readerOf(open(), request.workspaceId);
      try {
        for (; text.done !== true; text = await items.next()) await reader.write(text.value);
        await reader.write(form.listEnd(pagination));
      } finally {
        await reader.leave();
      }
    },
    { ...options, form },
  );

async function* writeItems<Item>(start: string, pages: Listing<Item>['pages']): AsyncGenerator<string> {
  let separator = start;
  for await (const page of pages)
    if (page.length > 0) {
      yield separator + page.map((item) => JSON.stringify(item)).join(',');
      separator = ',';
    }
  if (separator === start) yield start;
}

/** In milliseconds, all waits for a reader together. */
const patience = 1000;

/** A client that reads slowly takes a slot of the pool `readers`. */
function readerOf(stream: Writable, workspaceId: string) {
  let waited = 0;
  let leave: (() => Promise<void>) | undefined;

  async function isSlow(drained: Promise<unknown>): Promise<boolean> {
    const start = performance.now();
    const timer = new AbortController();
    const limit = sleep(Math.max(0, patience - waited), true, { signal: timer.signal });
    const outcome = await Promise.race([drained.then(() => false), limit]);
    timer.abort();
    waited += performance.now() - start;
    return outcome;
  }

  return {
    /** @throws rateLimited if the client reads slowly and its workspace gets no further slot */
    async write(text: string): Promise<void> {
      if (stream.write(text)) return;
      const drained = once(stream, 'drain');
      if (leave === undefined && (await isSlow(drained))) {
        leave = await shares().join('readers', workspaceId);
        if (leave === undefined) {
          drained.catch(() => undefined);
          throw tooManyOpen();
        }
      }
      await drained;
    },
    leave: async () => leave?.(),
  };
}
