// The function's module starts the server when it is imported.
import { subscribe } from 'node:diagnostics_channel';
import type { ServerResponse } from 'node:http';
import { flushCompileCache } from 'node:module';
import { pathToFileURL } from 'node:url';
import { parentPort, workerData } from 'node:worker_threads';
import { guardThread } from './guards.ts';
import type { ServerThreadData } from './messages.ts';

const data = workerData as ServerThreadData;

// For work such as a retry of the last write. AWS does not document how long an environment without requests continues
// to run.
const WORK_AFTER_RESPONSE_MILLISECONDS = 15_000;

let open = 0;
/** When the last response ended (`performance.now()`). Infinite before that: the function may still be starting. */
let endedAt = Number.POSITIVE_INFINITY;
subscribe('http.server.request.start', (message) => {
  const { response } = message as { response: ServerResponse };
  open += 1;
  const { end } = response;
  response.end = ((...given: unknown[]) => {
    if (!response.writableEnded) {
      open -= 1;
      endedAt = performance.now();
    }
    return Reflect.apply(end, response, given);
  }) as typeof end;
});
guardThread(data, () =>
  open === 0 && performance.now() - endedAt > WORK_AFTER_RESPONSE_MILLISECONDS
    ? 'all responses had ended'
    : undefined,
);

// No signal of the operating system reaches a thread, so the main thread sends the signal's name.
parentPort?.on('message', (signal: NodeJS.Signals) => process.emit(signal)).unref();
await import(pathToFileURL(data.entry).href);
flushCompileCache();
