import { flushCompileCache } from 'node:module';
import { pathToFileURL } from 'node:url';
import { workerData } from 'node:worker_threads';
import type { ServerThreadData } from './messages.ts';
import { rejectRunnerPorts } from './reject-runner-ports.ts';

// The entry point of a web function's thread. The function's module starts the server when it is imported.
delete process.env.NODE_COMPILE_CACHE;
const { entry, runnerPorts } = workerData as ServerThreadData;
rejectRunnerPorts(runnerPorts);
await import(pathToFileURL(entry).href);
flushCompileCache();
