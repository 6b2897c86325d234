import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Address, claimPort, findFreeAddress, releasePort } from '../wire/listen-on-loopback.ts';
import type { ThreadDefinition, ThreadEvents } from './function-definition.ts';
import { startThread } from './start-thread.ts';
import type { GuardMessage } from './thread/messages.ts';

export type Environment = Awaited<ReturnType<typeof startEnvironment>>;

// Lambda's time limit for a server to start listening.
const START_MILLISECONDS = 10_000;

// Lambda sends SIGKILL about this long after SIGTERM.
const SHUTDOWN_MILLISECONDS = 1000;

const LIMITS = {
  // Half of MEMORY_MEGABYTES (web-functions.ts). With a limit of 2 GB, 155 MB were in use after a run instead of 90 MB,
  // for the same processor time.
  maxOldGenerationSizeMb: 1024,
  // With a smaller young generation, a reply cost 0.5 to 0.8 ms more processor time.
  maxYoungGenerationSizeMb: 48,
};

/** `onEnded` is called when the thread has ended, and perhaps already before. */
export async function startEnvironment(
  { onLine, onViolation, ...definition }: WebFunctionDefinition,
  onEnded: () => void,
) {
  const address = await findFreeAddress();
  const { host, port } = address;
  claimPort(port);
  const environment = { ...definition.environment, AWS_LAMBDA_HTTP_ENDPOINT: `${host}:${port}` };
  const script = new URL('./thread/run-server.ts', import.meta.url);
  const worker = startThread(script, { ...definition, environment }, LIMITS, onLine);
  worker.on('message', ({ kind, text }: GuardMessage) => {
    onViolation(text);
    if (kind !== 'out-of-memory') return;
    onEnded();
    void worker.terminate();
  });
  const ended = new Promise<never>((_, reject) => {
    worker.on('error', (error: Error) => {
      onLine(error.stack ?? String(error));
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
    /** Rejects if the server does not listen within 10 s, or if the thread ends before. */
    listening,
    shutDown(): void {
      worker.postMessage('SIGTERM');
      setTimeout(() => void worker.terminate(), SHUTDOWN_MILLISECONDS).unref();
    },
  };
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
  readonly limits: {
    readonly requestsPerSecond: number | undefined;
    readonly maxEnvironments: number;
    /** When `maxEnvironments` are full, requests are rejected, not queued. */
    readonly requestsPerEnvironment: number;
  };
}
