import { flushCompileCache } from 'node:module';
import { pathToFileURL } from 'node:url';
import { workerData } from 'node:worker_threads';

// The body of a web function's thread: its module starts a server of its own accord.
delete process.env.NODE_COMPILE_CACHE;
await import(pathToFileURL((workerData as { entry: string }).entry).href);
flushCompileCache();
