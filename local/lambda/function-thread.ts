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
  /** Settles when the function's module has run: with undefined, or with why it could not. */
  readonly loaded: Promise<InvocationResult | undefined>;
  /** One at a time, once loaded. */
  invoke(payload: string, sink?: ResponseSink): Promise<InvocationResult>;
  /** Since it began, or since then: how much of its time it computed. */
  utilization(since?: EventLoopUtilization): EventLoopUtilization;
  /** An invocation under way fails. */
  terminate(): Promise<unknown>;
}

interface Invocation {
  readonly requestId: string;
  readonly sink: ResponseSink | undefined;
  readonly collected: (string | Uint8Array)[];
  readonly resolve: (result: InvocationResult) => void;
}

// AWS gives a cold start 10 s; here dozens of threads may load at once on a few cores.
const LOAD_TIMEOUT_MILLISECONDS = 60_000;

// V8 would take 48 MB in each of dozens of threads, and give none back: a fourth costs no time that can be measured, and
// keeps a run of batches at two thirds of the memory.
const YOUNG_GENERATION_MEGABYTES = 12;

// A quarter of the function's credit: few messages back, and none at all for a short answer.
const ACKNOWLEDGE_FROM_BYTES = 16 * 1024;

export function createFunctionThread(definition: FunctionDefinition, events: ThreadEvents): FunctionThread {
  const timeoutMilliseconds = definition.timeoutSeconds * 1000;
  const worker = new Worker(new URL('./thread/run-handler.ts', import.meta.url), {
    name: definition.functionName,
    // Read by Node when the thread starts, then taken out of the function's sight: compiled code of an earlier
    // thread halves the time to load.
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
  const report = (message: MessageToThread) => worker.postMessage(message);

  const loading = Promise.withResolvers<InvocationResult | undefined>();
  let gone = false;
  let current: Invocation | undefined;
  let deadline: NodeJS.Timeout | undefined;
  let unacknowledged = 0;

  function charge(result: InvocationResult): void {
    clearTimeout(deadline);
    clearTimeout(loadTimeout);
    loading.resolve(result);
    const invocation = current;
    current = undefined;
    invocation?.resolve(result);
  }

  function fail(errorType: string, errorMessage: string): void {
    charge({ succeeded: false, errorType, errorMessage });
  }

  function failAndTerminate(errorType: string, errorMessage: string): void {
    leave();
    fail(errorType, errorMessage);
    void worker.terminate();
  }

  function leave(): void {
    if (gone) return;
    gone = true;
    events.gauge.forget(worker);
    events.onGone();
  }

  function startClock(): void {
    deadline = setTimeout(() => {
      const seconds = definition.timeoutSeconds.toFixed(2);
      failAndTerminate('Sandbox.Timedout', `${current?.requestId} Task timed out after ${seconds} seconds`);
    }, timeoutMilliseconds);
  }

  function acknowledge(bytes: number): void {
    unacknowledged += bytes;
    if (unacknowledged < ACKNOWLEDGE_FROM_BYTES || gone) return;
    report({ kind: 'written', bytes: unacknowledged });
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
    charge({ succeeded: true, payload: payload ?? joinChunks(current?.collected ?? []) });
  }

  worker.on('message', receive);
  worker.on('error', (error: Error) => {
    leave();
    events.onLine(error.stack ?? String(error));
    fail('Runtime.ExitError', `Error: Runtime exited: ${error.message}`);
  });
  worker.on('exit', (code) => {
    leave();
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
        startClock();
        report({ kind: 'invoke', requestId: current.requestId, payload });
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
