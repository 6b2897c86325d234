import { flushCompileCache } from 'node:module';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { parentPort, workerData } from 'node:worker_threads';
import { bypassWire } from '../../dynamodb/emulator-route/emulator-route.ts';
import { dropOutput } from './drop-output.ts';
import type { ServerThreadData } from './messages.ts';
import { rejectRunnerPorts } from './reject-runner-ports.ts';

// The entry point of a web function's thread. The function's module starts the server when it is imported.
delete process.env.NODE_COMPILE_CACHE;
const { entry, hasLogListener, emulatorRoute, runnerPorts } = workerData as ServerThreadData;
if (!hasLogListener) dropOutput();
rejectRunnerPorts(runnerPorts);
if (emulatorRoute) bypassWire(emulatorRoute);
// No signal of the operating system reaches a thread.
parentPort?.on('message', (signal: NodeJS.Signals) => process.emit(signal)).unref();
await import(pathToFileURL(entry).href);
flushCompileCache();
