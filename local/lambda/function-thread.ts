import { randomUUID } from 'node:crypto';
import type { Worker } from 'node:worker_threads';
import type { FunctionDefinition, ThreadEvents } from './function-definition.ts';
import type { InvocationResult, ResponseSink } from './invokable-function.ts';
import { startThread } from './start-thread.ts';
import type { MessageFromThread, MessageToThread } from './thread/messages.ts';

interface Invocation {
  readonly requestId: string;
  readonly sink: ResponseSink | undefined;
  readonly collected: (string | Uint8Array)[];
  readonly resolve: (result: InvocationResult) => void;
}

// Lambda's init phase has 10 s. Here, threads of dozens of functions may load concurrently on a few processors.
const LOAD_TIMEOUT_MILLISECONDS = 60_000;

// V8's default is larger. With 12 MB, no loss of time was measurable, and a run with batches needed less memory than
// with 48 MB.
const YOUNG_GENERATION_MEGABYTES = 12;

// A quarter of CREDIT_BYTES (thread/response-stream.ts), so that there are few acknowledgements.
const ACKNOWLEDGE_FROM_BYTES = 16 * 1024;

export class FunctionThread {
  calls = 0;
  readonly #definition: FunctionDefinition;
  readonly #events: ThreadEvents;
  readonly #onGone: () => void;
  readonly #worker: Worker;
  readonly #loading = Promise.withResolvers<InvocationResult | undefined>();
  readonly #loadTimeout: NodeJS.Timeout;
  #hasEnded = false;
  #current: Invocation | undefined;
  #deadline: NodeJS.Timeout | undefined;
  #unacknowledged = 0;

  constructor(definition: FunctionDefinition, events: ThreadEvents, onGone: () => void) {
    this.#definition = definition;
    this.#events = events;
    this.#onGone = onGone;
    const limits = {
      maxOldGenerationSizeMb: definition.memoryMegabytes,
      maxYoungGenerationSizeMb: YOUNG_GENERATION_MEGABYTES,
    };
    const script = new URL('./thread/run-handler.ts', import.meta.url);
    this.#worker = startThread(script, definition, limits, events.onLine);
    this.#worker.on('message', (message: MessageFromThread) => this.#receive(message));
    this.#worker.on('error', (error: Error) => {
      this.#markEnded();
      events.onLine(error.stack ?? String(error));
      this.#fail('Runtime.ExitError', `Error: Runtime exited: ${error.message}`);
    });
    this.#worker.on('exit', (code) => {
      this.#markEnded();
      this.#fail('Runtime.ExitError', `Error: Runtime exited with error: exit status ${code}`);
    });
    this.#loadTimeout = setTimeout(() => {
      this.#failAndTerminate('Runtime.InitTimeout', `${definition.functionName} did not load in time`);
    }, LOAD_TIMEOUT_MILLISECONDS);
  }

  get busy(): boolean {
    return this.#current !== undefined;
  }

  /** Resolves with undefined when the function's module has loaded, or with the failure. */
  get loaded(): Promise<InvocationResult | undefined> {
    return this.#loading.promise;
  }

  /** To be called after `loaded`, one invocation at a time. Errors of the function are in the result. */
  invoke(payload: string, sink?: ResponseSink): Promise<InvocationResult> {
    this.calls += 1;
    if (this.#current)
      throw new Error(`A thread of ${this.#definition.functionName} was given a second invocation`);
    return new Promise((resolve) => {
      const requestId = randomUUID();
      this.#current = { requestId, sink, collected: [], resolve };
      this.#unacknowledged = 0;
      if (this.#hasEnded) return this.#fail('Runtime.ExitError', 'The thread has ended');
      const { timeoutSeconds } = this.#definition;
      this.#deadline = setTimeout(() => {
        const text = `${requestId} Task timed out after ${timeoutSeconds.toFixed(2)} seconds`;
        this.#failAndTerminate('Sandbox.Timedout', text);
      }, timeoutSeconds * 1000);
      this.#send({ kind: 'invoke', requestId, payload });
    });
  }

  terminate(): Promise<unknown> {
    this.#failAndTerminate('Runtime.ExitError', 'The thread was terminated');
    return this.#worker.terminate();
  }

  #send(message: MessageToThread): void {
    this.#worker.postMessage(message);
  }

  #receive(message: MessageFromThread): void {
    switch (message.kind) {
      case 'chunk':
        if (this.#current?.sink)
          this.#current.sink.write(message.chunk, () => this.#acknowledge(message.bytes));
        else {
          this.#current?.collected.push(message.chunk);
          this.#acknowledge(message.bytes);
        }
        break;
      case 'end':
        this.#current?.sink?.end();
        break;
      case 'done':
        this.#succeed(message.payload);
        break;
      case 'failed':
        this.#fail(message.error.errorType, message.error.errorMessage);
        break;
      case 'loaded':
        clearTimeout(this.#loadTimeout);
        this.#loading.resolve(undefined);
        break;
      case 'load-failed':
        this.#events.onLine(`${message.error.errorType}: ${message.error.errorMessage}`);
        this.#failAndTerminate(message.error.errorType, message.error.errorMessage);
        break;
      case 'violation':
        this.#events.onViolation(message.text);
        break;
      case 'out-of-memory':
        this.#events.onViolation(message.text);
        this.#failAndTerminate('Runtime.OutOfMemory', message.text);
        break;
    }
  }

  #acknowledge(bytes: number): void {
    this.#unacknowledged += bytes;
    if (this.#unacknowledged < ACKNOWLEDGE_FROM_BYTES || this.#hasEnded) return;
    this.#send({ kind: 'written', bytes: this.#unacknowledged });
    this.#unacknowledged = 0;
  }

  #succeed(payload: string | undefined): void {
    const { sink, collected = [] } = this.#current ?? {};
    if (payload !== undefined && sink) {
      sink.write(payload, () => {});
      sink.end();
    }
    const streamed = Buffer.concat(collected.map((chunk) => Buffer.from(chunk as Uint8Array)));
    this.#complete({ succeeded: true, payload: payload ?? streamed.toString() });
  }

  #fail(errorType: string, errorMessage: string): void {
    this.#complete({ succeeded: false, errorType, errorMessage });
  }

  #failAndTerminate(errorType: string, errorMessage: string): void {
    this.#markEnded();
    this.#fail(errorType, errorMessage);
    void this.#worker.terminate();
  }

  #complete(result: InvocationResult): void {
    clearTimeout(this.#deadline);
    clearTimeout(this.#loadTimeout);
    this.#loading.resolve(result);
    const invocation = this.#current;
    this.#current = undefined;
    invocation?.resolve(result);
  }

  #markEnded(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#onGone();
  }
}
