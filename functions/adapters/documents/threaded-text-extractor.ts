import { Worker } from 'node:worker_threads';
import {
  type ExtractedText,
  ExtractionFailure,
  type ExtractionFailureKind,
  type SourceDocument,
  type TextExtractor,
} from '#domain/files/files.ts';

export type ExtractionMessage =
  | { extracted: ExtractedText }
  | { failure: { kind: ExtractionFailureKind; message: string } };

export interface ExtractionLimits {
  thread: URL;
  milliseconds: number;
  /** Limits the thread's heap to about this, and also its external memory: together they may take twice as much. */
  megabytes: number;
}

/** Short, because unpacking takes up memory fast. */
const memoryCheckMilliseconds = 10;

/** Reads each document in a worker thread of its own, because a crafted document could exhaust the process. */
export const threadedTextExtractor = (limits: ExtractionLimits): TextExtractor => ({
  async extract(document, signal) {
    signal?.throwIfAborted();
    const thread = new Worker(limits.thread, {
      workerData: document satisfies SourceDocument,
      resourceLimits: { maxOldGenerationSizeMb: limits.megabytes },
      // Keeps the console output of the libraries out of that of the process.
      stdout: true,
      stderr: true,
    });
    try {
      const response = await responseOf(thread, limits, signal);
      if ('extracted' in response) return response.extracted;
      throw new ExtractionFailure(response.failure.kind, response.failure.message);
    } finally {
      await thread.terminate();
    }
  },
});

function responseOf(
  thread: Worker,
  limits: ExtractionLimits,
  signal: AbortSignal | undefined,
): Promise<ExtractionMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<ExtractionMessage>();
  thread.once('message', resolve);
  thread.once('error', (error: NodeJS.ErrnoException) =>
    reject(
      error.code === 'ERR_WORKER_OUT_OF_MEMORY'
        ? tooMuch(error)
        : new ExtractionFailure('unreadable', 'cannot be read', { cause: error }),
    ),
  );
  thread.once('exit', () => reject(new ExtractionFailure('unreadable', 'cannot be read: its reader ended')));
  const timer = setTimeout(
    () =>
      reject(new ExtractionFailure('tooSlow', `takes longer than ${limits.milliseconds / 1000} s to read`)),
    limits.milliseconds,
  );
  const memoryCheck = setInterval(async () => {
    const heap = await thread.getHeapStatistics().catch(() => undefined);
    if (heap !== undefined && heap.external_memory > limits.megabytes * 1024 * 1024) reject(tooMuch());
  }, memoryCheckMilliseconds);
  const abort = () => reject(signal?.reason);
  signal?.addEventListener('abort', abort, { once: true });
  return promise.finally(() => {
    clearTimeout(timer);
    clearInterval(memoryCheck);
    signal?.removeEventListener('abort', abort);
  });
}

const tooMuch = (cause?: Error) =>
  new ExtractionFailure('tooLarge', 'takes too much memory to read', { cause });
