import type { AddressInfo } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import S3rver from 's3rver';
import { completeEngine } from './complete-engine.ts';

// The body of a worker thread: objects of tens of megabytes then never hold up the gateway's event loop.
const { directory, buckets } = workerData as { directory: string; buckets: string[] };

const server = new S3rver({
  address: '127.0.0.1',
  port: 0,
  directory,
  silent: true,
  vhostBuckets: false,
  configureBuckets: buckets.map((name) => ({ name })),
});
completeEngine(server);
const address = (await server.run()) as AddressInfo;
parentPort?.postMessage(address.port);
