import type { AddressInfo } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import S3rver from '@20minutes/s3rver';
import type { AccessRules } from '../iam/access-rules.ts';
import type { MessageFromBuckets } from './buckets.ts';
import { completeEmulator } from './complete-emulator.ts';
import { guardEmulator } from './guard-emulator.ts';

// A thread of its own, so that objects of tens of megabytes do not block the gateway's event loop.
const { directory, buckets } = workerData as { directory: string; buckets: string[] };

const server = new S3rver({
  address: '127.0.0.1',
  port: 0,
  directory,
  silent: true,
  // guardEmulator checks a signature, then replaces the access key, so the signature does not match here.
  allowMismatchedSignatures: true,
  vhostBuckets: false,
  configureBuckets: buckets.map((name) => ({ name })),
});
completeEmulator(server);
const rules = Promise.withResolvers<AccessRules>();
const send = (message: MessageFromBuckets) => parentPort?.postMessage(message);
parentPort?.once('message', rules.resolve);
guardEmulator(server, rules.promise, {
  onUse: (use) => send({ kind: 'use', use }),
  onDenied: (message) => send({ kind: 'denied', message }),
});
const address = (await server.run()) as AddressInfo;
send({ kind: 'listening', port: address.port });
