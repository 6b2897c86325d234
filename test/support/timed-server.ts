import { mock } from 'node:test';
import { parentPort } from 'node:worker_threads';
import { resumeStreamRoute, sendMessageRoute } from '#contract/routes/messages.ts';
import { clock } from '#runtime/environment/invocation-context.ts';
import { signCaller } from '#runtime/http/caller-secrets.ts';
import { eventStreamHeaders, writeStoredStream } from '#runtime/http/event-stream.ts';
import { timeForModel } from '#runtime/http/serve-route.ts';
import { serveRoutes } from '#runtime/http/serve-routes.ts';

/**
 * A web function with two routes whose time the test moves, in a thread of its own: `{ advance: milliseconds }`. The
 * stored stream of `resume-stream` never ends. `send-message` responds with the milliseconds that its model may take.
 */
mock.timers.enable({ apis: ['Date', 'setTimeout'], now: Date.now() });

async function* endless(): AsyncGenerator<string> {
  for (let event = 0; ; event += 1) {
    yield `data: ${event}\n\n`;
    await new Promise<void>((resolve) => void clock.after(1000, resolve));
  }
}

serveRoutes([
  {
    route: resumeStreamRoute,
    async serve(_event, { open, remainingMilliseconds }) {
      const stream = open(200, eventStreamHeaders);
      await writeStoredStream(() => stream, endless(), clock, remainingMilliseconds());
      stream.end();
    },
  },
  {
    route: sendMessageRoute,
    async serve(_event, { open, remainingMilliseconds }) {
      mock.timers.tick(2000);
      open(200, {}).end(String(timeForModel(sendMessageRoute, true, remainingMilliseconds())));
    },
  },
]);

parentPort?.on('message', async ({ advance }: { advance: number }) => {
  for (let left = advance; left > 0; left -= 1000) {
    mock.timers.tick(Math.min(left, 1000));
    await new Promise(setImmediate);
  }
  parentPort?.postMessage('advanced');
});

parentPort?.postMessage(await signCaller({ workspaceId: 'w' }));
