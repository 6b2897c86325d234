import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { sendMessageRoute } from '#contract/routes/messages.ts';
import type { Request } from '#runtime/http/request.ts';
import { serveRoute } from '#runtime/http/serve-route.ts';

const request: Request = {
  ...{ id: 'request-1', gatewayId: 'request-1', path: '/chats/1/messages', gatewayHost: undefined },
  ...{
    headers: new Map([['content-type', ['application/json']]]),
    query: new Map(),
    parameters: { chat_id: '1' },
  },
  caller: { workspaceId: 'ws_1', apiKeyId: 'key_1', expiresAt: null, limits: null },
  body: async () => JSON.stringify({ message: 'Hi', agent_id: crypto.randomUUID() }),
};

it.each(['responds', 'fails'])('a request that %s ends only after the work that it left', async (outcome) => {
  const left = Promise.withResolvers<void>();
  const response = new PassThrough();
  const serve = serveRoute(
    sendMessageRoute,
    async (_request, { open, finishAfterResponse }) => {
      finishAfterResponse(left.promise);
      const stream = open();
      if (outcome === 'fails') throw new Error('Broken');
      stream.write('Hello');
    },
    { awaitsRateLimit: true },
  );
  let hasEnded = false;
  const ended = serve(request, { open: () => response, remainingMilliseconds: () => 1000 })
    .catch((error: Error) => error.message)
    .finally(() => {
      hasEnded = true;
    });
  if (outcome === 'responds') expect(await text(response)).toBe('Hello');
  await new Promise(setImmediate);
  expect(hasEnded).toBe(false);
  left.resolve();
  expect(await ended).toBe(outcome === 'fails' ? 'Broken' : undefined);
});
