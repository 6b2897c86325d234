import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { APIGatewayProxyEvent, APIGatewayProxyResult, Context } from 'aws-lambda';
import { type PageEnds, paginate } from '#contract/pagination.ts';
import type { Route } from '#contract/routes/route.ts';
import { tooManyOpen } from '#domain/platform/shares.ts';
import { shares } from '#runtime/composition/services.ts';
import { runRequest } from '#runtime/observability/invocation.ts';
import { type CheckUsers, callerIn, type Request, type ValidRequest } from './request.ts';
import { envelopeForm, type ResponseForm } from './response-form.ts';
import { endOf, type ResponseWriter, type Serve, serveRoute, wholeResponse } from './serve-route.ts';

/** A global of Lambda's managed Node.js runtime. */
declare const awslambda: {
  streamifyResponse(
    handler: (event: APIGatewayProxyEvent, stream: Writable, context: Context) => Promise<void>,
  ): (event: APIGatewayProxyEvent, stream: Writable, context: Context) => Promise<void>;
  HttpResponseStream: {
    from(stream: Writable, head: { statusCode: number; headers: Record<string, string> }): Writable;
  };
};

export const lambdaHandler = ({ name, transfer }: Route, serve: Serve) => {
  const respond = (event: APIGatewayProxyEvent, context: Context, open: ResponseWriter['open']) =>
    serve(requestOf(event), { open, remainingMilliseconds: () => context.getRemainingTimeInMillis() });
  return transfer === 'streamed'
    ? awslambda.streamifyResponse(async (event, stream, context) => {
        // After a streamed response, API Gateway may invoke the function with an event that is not a request.
        if (event.requestContext === undefined) return endOf(stream);
        const open: ResponseWriter['open'] = (statusCode, headers) =>
          awslambda.HttpResponseStream.from(stream, { statusCode, headers });
        await runRequest(event, context, () => respond(event, context, open), name);
      })
    : (event: APIGatewayProxyEvent, context: Context): Promise<APIGatewayProxyResult> =>
        runRequest(event, context, () => wholeResponse((open) => respond(event, context, open)), name);
};

export const lambdaRoute = <R extends Route>(...given: Parameters<typeof serveRoute<R>>) =>
  lambdaHandler(given[0], serveRoute(...given));

function requestOf(event: APIGatewayProxyEvent): Request {
  const { requestContext, multiValueHeaders, multiValueQueryStringParameters, body } = event;
  const headers = new Map<string, string[]>();
  for (const [name, values = []] of Object.entries(multiValueHeaders ?? {}))
    headers.set(name.toLowerCase(), [...(headers.get(name.toLowerCase()) ?? []), ...values]);
  const sent = event.isBase64Encoded ? Buffer.from(body ?? '', 'base64') : (body ?? '');
  return {
    id: requestContext.requestId,
    gatewayId: requestContext.extendedRequestId ?? requestContext.requestId,
    headers,
    query: new Map(
      Object.entries(multiValueQueryStringParameters ?? {}).map(([name, values]) => [name, values ?? []]),
    ),
    parameters: event.pathParameters ?? {},
    path: requestContext.path,
    gatewayHost: requestContext.domainName,
    caller: callerIn(requestContext.authorizer ?? {}),
    rejection: requestContext.authorizer?.rejection as string | undefined,
    body: async () => sent,
  };
}

interface Listing<Item> {
  pages: AsyncIterable<Item[]> | Iterable<Item[]>;
  resourceOf?: (item: Item) => unknown;
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
      const { total, ends, ...listed } = await list(request);
      const items = writeItems(form.listStart, listed);
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

async function* writeItems<Item>(
  start: string,
  { pages, resourceOf = (item) => item }: Listing<Item>,
): AsyncGenerator<string> {
  let separator = start;
  for await (const page of pages)
    if (page.length > 0) {
      const resources = await Promise.all(page.map(resourceOf));
      yield separator + resources.map((resource) => JSON.stringify(resource)).join(',');
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
