import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import {
  type Address,
  claimPort,
  findFreeAddress,
  releasePort,
  runnerPorts,
} from '../wire/listen-on-loopback.ts';
import type { ThreadDefinition, ThreadEvents } from './function-definition.ts';
import { passLines } from './pass-lines.ts';
import type { GuardMessage, ServerThreadData } from './thread/messages.ts';

export interface Environment {
  readonly worker: Worker;
  readonly address: Address;
  /** Rejects if the server does not listen within 10 s, or if the thread ends before. */
  readonly listening: Promise<void>;
  shutDown(): void;
}

// Lambda's time limit for a server to start listening.
const START_MILLISECONDS = 10_000;

// Lambda sends SIGKILL about this long after SIGTERM.
const SHUTDOWN_MILLISECONDS = 1000;

// Half of an environment's memory (MEMORY_MEGABYTES in web-functions.ts). With a limit of 2 GB, 155 MB were in use
// after a run instead of 90 MB, for the same processor time.
const HEAP_MEGABYTES = 1024;

// With a smaller young generation, a reply cost 0.5 to 0.8 ms more processor time.
const YOUNG_GENERATION_MEGABYTES = 48;

/** `onEnded` is called when the thread has ended, and perhaps already before. */
export async function startEnvironment(
  definition: WebFunctionDefinition,
  onEnded: () => void,
): Promise<Environment> {
  const address = await findFreeAddress();
  const { port } = address;
  claimPort(port);
  const worker = startWorker(definition, address, onEnded);
  const ended = new Promise<never>((_, reject) => {
    worker.on('error', (error: Error) => {
      definition.onLine(error.stack ?? String(error));
      reject(error);
    });
    worker.on('exit', () => {
      onEnded();
      releasePort(port);
      reject(new Error(`${definition.functionName} has ended`));
    });
  });
  const listening = Promise.race([untilListening(address, definition.functionName), ended]);
  listening.catch(() => {});
  return {
    worker,
    address,
    listening,
    shutDown() {
      worker.postMessage('SIGTERM');
      setTimeout(() => void worker.terminate(), SHUTDOWN_MILLISECONDS).unref();
    },
  };
}

function startWorker(
  { onLine, onViolation, ...definition }: WebFunctionDefinition,
  { host, port }: Address,
  onEnded: () => void,
): Worker {
  const worker = new Worker(new URL('./thread/run-server.ts', import.meta.url), {
    name: definition.functionName,
    env: {
      ...definition.environment,
      AWS_LAMBDA_HTTP_ENDPOINT: `${host}:${port}`,
      NODE_COMPILE_CACHE: definition.compileCacheFolder,
    },
    argv: [],
    execArgv: [],
    stdout: true,
    stderr: true,
    resourceLimits: {
      maxOldGenerationSizeMb: HEAP_MEGABYTES,
      maxYoungGenerationSizeMb: YOUNG_GENERATION_MEGABYTES,
    },
    workerData: { ...definition, runnerPorts } satisfies ServerThreadData,
  });
  worker.on('message', ({ kind, text }: GuardMessage) => {
    onViolation(text);
    if (kind !== 'out-of-memory') return;
    onEnded();
    void worker.terminate();
  });
  passLines(worker.stdout, onLine);
  passLines(worker.stderr, onLine);
  return worker;
}

async function untilListening(address: Address, name: string): Promise<void> {
  const deadline = performance.now() + START_MILLISECONDS;
  while (performance.now() < deadline) {
    if (await accepts(address)) return;
    await sleep(10);
  }
  throw new Error(`${name} does not listen on AWS_LAMBDA_HTTP_ENDPOINT`);
}

function accepts({ host, port }: Address): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, host, () => {
      socket.destroy();
      resolve(true);
    }).once('error', () => resolve(false));
  });
}

export interface WebFunctionDefinition extends ThreadDefinition, ThreadEvents {
  readonly domainName: string;
  readonly entry: string;
  readonly limits: WebFunctionLimits;
}

export interface WebFunctionLimits {
  readonly requestsPerSecond: number | undefined;
  readonly maxEnvironments: number;
  /** When `maxEnvironments` are full, requests are rejected, not queued. */
  readonly requestsPerEnvironment: number;
}
