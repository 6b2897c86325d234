import { subscribe } from 'node:diagnostics_channel';
import type { ClientRequest } from 'node:http';
import type { ClientHttp2Stream } from 'node:http2';
import { getHeapStatistics } from 'node:v8';
import { parentPort } from 'node:worker_threads';
import { bypassWire } from '../../dynamodb/emulator-route/emulator-route.ts';
import type { GuardData, MessageFromThread } from './messages.ts';
import { rejectRunnerPorts } from './reject-runner-ports.ts';

// Buffers that are held for a shorter time may stay undetected.
const MEMORY_SAMPLE_MILLISECONDS = 250;

/**
 * To be called before the function's module is loaded.
 * @param isAfterResponse returns why an outgoing request must not begin now; undefined if it may
 * @returns a function that takes a sample of the memory immediately
 */
export function guardThread(
  { functionName, memoryMegabytes, hasLogListener, runnerPorts, emulatorRoute }: GuardData,
  isAfterResponse: () => string | undefined,
): () => void {
  const send = (message: MessageFromThread) => parentPort?.postMessage(message);
  delete process.env.NODE_COMPILE_CACHE;
  watchNetwork((request) => {
    const reason = isAfterResponse();
    if (reason !== undefined)
      send({ kind: 'violation', text: `${functionName}: ${request} began after ${reason}` });
  });
  if (!hasLogListener) dropOutput();
  rejectRunnerPorts(runnerPorts);
  if (emulatorRoute) bypassWire(emulatorRoute);

  /** V8 limits the heap only. This check also counts the memory of Buffers outside of the heap. */
  const sampleMemory = () => {
    // process.memoryUsage takes longer, because it also reads the memory of the whole process.
    const { used_heap_size, external_memory } = getHeapStatistics();
    const usedMegabytes = Math.round((used_heap_size + external_memory) / 1024 / 1024);
    if (usedMegabytes > memoryMegabytes)
      send({
        kind: 'out-of-memory',
        text: `${functionName} held ${usedMegabytes} MB of ${memoryMegabytes} MB`,
      });
  };
  setInterval(sampleMemory, MEMORY_SAMPLE_MILLISECONDS).unref();
  return sampleMemory;
}

/** Each line would cost a message to the main thread. */
function dropOutput(): void {
  process.stdout.write = (...args: unknown[]) => {
    const callback = args.at(-1);
    if (typeof callback === 'function') queueMicrotask(() => callback());
    return true;
  };
}

function watchNetwork(onRequest: (request: string) => void): void {
  subscribe('http.client.request.start', (message) => {
    const { request } = message as { request: ClientRequest };
    onRequest(`${request.method} ${request.protocol}//${request.host}${request.path}`);
  });
  subscribe('undici:request:create', (message) => {
    const { request } = message as { request: { method: string; origin: string; path: string } };
    onRequest(`${request.method} ${request.origin}${request.path}`);
  });
  subscribe('http2.client.stream.start', (message) => {
    const { headers } = message as { stream: ClientHttp2Stream; headers: Record<string, string> };
    onRequest(`${headers[':method']} ${headers[':scheme']}://${headers[':authority']}${headers[':path']}`);
  });
}
