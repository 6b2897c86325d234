import { randomUUID } from 'node:crypto';
import type { EventLoopUtilization } from 'node:perf_hooks';
import { Worker } from 'node:worker_threads';
import { ownPorts } from '../wire/own-ports.ts';
import type { FunctionDefinition, ThreadEvents } from './function-definition.ts';
import type { InvocationResult, ResponseSink } from './invokable-function.ts';
import { passLines } from './pass-lines.ts';
import type { MessageFromThread, MessageToThread, ThreadData } from './thread/messages.ts';

export interface FunctionThread {
  readonly busy: boolean;
  /** Resolves when the function's module has loaded: with undefined, or with the failure. */
  readonly loaded: Promise<InvocationResult | undefined>;
  /** One invocation at a time, after `loaded`. */
  invoke(payload: string, sink?: ResponseSink): Promise<InvocationResult>;
  /** The share of its time that the thread computed, since its start or since an earlier measurement. */
  utilization(since?: EventLoopUtilization): EventLoopUtilization;
  /** Ends the thread. Its running invocation fails. */
  terminate(): Promise<unknown>;
}

interface Invocation {
  readonly requestId: string;
  readonly sink: ResponseSink | undefined;
  readonly collected: (string | Uint8Array)[];
  readonly resolve: (result: InvocationResult) => void;
}

// AWS allows 10 s for a cold start. Here, dozens of threads may load concurrently on a few processors.
const LOAD_TIMEOUT_MILLISECONDS = 60_000;

// V8's default is 48 MB in each of dozens of threads, which V8 does not return. A quarter of it costs no measurable
// time and reduces the memory of a run with batches to two thirds.
const YOUNG_GENERATION_MEGABYTES = 12;

// A quarter of what a function may write without an acknowledgement, so that there are few acknowledgements, and none
// for a short response.
const ACKNOWLEDGE_FROM_BYTES = 16 * 1024;

export function createFunctionThread(definition: FunctionDefinition, events: ThreadEvents): FunctionThread {
  const timeoutMilliseconds = definition.timeoutSeconds * 1000;
  const worker = new Worker(new URL('./thread/run-handler.ts', import.meta.url), {
    name: definition.functionName,
    // Compiled code of an earlier thread halves the load time. Node reads the variable when the thread starts; the
    // thread then deletes it, so that the function does not see it.
    env: { ...definition.environment, NODE_COMPILE_CACHE: definition.compileCacheFolder },
    argv: [],
    execArgv: [],
    stdout: true,
    stderr: true,
    resourceLimits: {
      maxOldGenerationSizeMb: definition.memoryMegabytes,
      maxYoungGenerationSizeMb: YOUNG_GENERATION_MEGABYTES,
    },
    workerData: {
      taskRoot: definition.taskRoot,
      handler: definition.handler,
      functionName: definition.functionName,
      functionArn: definition.functionArn,
      memoryMegabytes: definition.memoryMegabytes,
      timeoutMilliseconds,
      hasLogListener: definition.hasLogListener,
      emulatorRoute: definition.emulatorRoute,
      ownPorts,
    } satisfies ThreadData,
  });
  events.gauge.watch(worker);
  const send = (message: MessageToThread) => worker.postMessage(message);

  const loading = Promise.withResolvers<InvocationResult | undefined>();
  let gone = false;
  let current: Invocation | undefined;
  let deadline: NodeJS.Timeout | undefined;
  let unacknowledged = 0;

  function complete(result: InvocationResult): void {
    clearTimeout(deadline);
    clearTimeout(loadTimeout);
    loading.resolve(result);
    const invocation = current;
    current = undefined;
    invocation?.resolve(result);
  }

  function fail(errorType: string, errorMessage: string): void {
    complete({ succeeded: false, errorType, errorMessage });
  }

  function failAndTerminate(errorType: string, errorMessage: string): void {
    markGone();
    fail(errorType, errorMessage);
    void worker.terminate();
  }

  function markGone(): void {
    if (gone) return;
    gone = true;
    events.gauge.forget(worker);
    events.onGone();
  }

  function startTimeout(): void {
    deadline = setTimeout(() => {
      const seconds = definition.timeoutSeconds.toFixed(2);
      failAndTerminate('Sandbox.Timedout', `${current?.requestId} Task timed out after ${seconds} seconds`);
    }, timeoutMilliseconds);
  }

  function acknowledge(bytes: number): void {
    unacknowledged += bytes;
    if (unacknowledged < ACKNOWLEDGE_FROM_BYTES || gone) return;
    send({ kind: 'written', bytes: unacknowledged });
    unacknowledged = 0;
  }

  function receive(message: MessageFromThread): void {
    switch (message.kind) {
      case 'chunk':
        if (current?.sink) current.sink.write(message.chunk, () => acknowledge(message.bytes));
        else {
          current?.collected.push(message.chunk);
          acknowledge(message.bytes);
        }
        break;
      case 'end':
        current?.sink?.end();
        break;
      case 'done':
        finish(message.payload);
        break;
      case 'failed':
        fail(message.error.errorType, message.error.errorMessage);
        break;
      case 'loaded':
        clearTimeout(loadTimeout);
        loading.resolve(undefined);
        break;
      case 'load-failed':
        events.onLine(`${message.error.errorType}: ${message.error.errorMessage}`);
        failAndTerminate(message.error.errorType, message.error.errorMessage);
        break;
      case 'violation':
        events.onViolation(message.text);
        break;
      case 'out-of-memory': {
        const text = `${definition.functionName} held ${message.usedMegabytes} MB of ${definition.memoryMegabytes} MB`;
        events.onViolation(text);
        failAndTerminate('Runtime.OutOfMemory', text);
        break;
      }
    }
  }

  function finish(payload: string | undefined): void {
    if (payload !== undefined && current?.sink) {
      current.sink.write(payload, () => {});
      current.sink.end();
    }
    complete({ succeeded: true, payload: payload ?? joinChunks(current?.collected ?? []) });
  }

  worker.on('message', receive);
  worker.on('error', (error: Error) => {
    markGone();
    events.onLine(error.stack ?? String(error));
    fail('Runtime.ExitError', `Error: Runtime exited: ${error.message}`);
  });
  worker.on('exit', (code) => {
    markGone();
    fail('Runtime.ExitError', `Error: Runtime exited with error: exit status ${code}`);
  });
  passLines(worker.stdout, events.onLine);
  passLines(worker.stderr, events.onLine);
  const loadTimeout = setTimeout(() => {
    failAndTerminate('Runtime.InitTimeout', `${definition.functionName} did not load in time`);
  }, LOAD_TIMEOUT_MILLISECONDS);

  return {
    get busy() {
      return current !== undefined;
    },
    loaded: loading.promise,
    invoke(payload, sink) {
      if (current) throw new Error(`A thread of ${definition.functionName} was given a second invocation`);
      return new Promise((resolve) => {
        current = { requestId: randomUUID(), sink, collected: [], resolve };
        unacknowledged = 0;
        if (gone) return fail('Runtime.ExitError', 'The thread has ended');
        startTimeout();
        send({ kind: 'invoke', requestId: current.requestId, payload });
      });
    },
    utilization: (since) => worker.performance.eventLoopUtilization(since),
    terminate() {
      failAndTerminate('Runtime.ExitError', 'The thread was terminated');
      return worker.terminate();
    },
  };
}

function joinChunks(chunks: readonly (string | Uint8Array)[]): string {
  return Buffer.concat(chunks.map((chunk) => Buffer.from(chunk as Uint8Array))).toString();
}
