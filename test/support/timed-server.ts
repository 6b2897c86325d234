import { mock } from 'node:test';
import { parentPort } from 'node:worker_threads';
import { sendMessageRoute } from '#contract/routes/messages.ts';
import { signCaller } from '#runtime/http/caller-secrets.ts';
import { timeForModel } from '#runtime/http/serve-route.ts';
import { serveRoutes } from '#runtime/http/serve-routes.ts';

/**
 * A web function, in a thread of its own. `send-message` responds with the milliseconds that its model may take after two
 * seconds.
 */
mock.timers.enable({ apis: ['Date'], now: Date.now() });

serveRoutes([
  {
    route: sendMessageRoute,
    async serve(_event, { open, remainingMilliseconds }) {
      mock.timers.tick(2000);
      open(200, {}).end(String(timeForModel(sendMessageRoute, true, remainingMilliseconds())));
    },
  },
]);

parentPort?.postMessage(await signCaller({ workspaceId: 'w' }));
