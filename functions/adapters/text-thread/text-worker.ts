import { Worker } from 'node:worker_threads';
import type { IndexSearch, SearchedIndex } from '#adapters/knowledge/knowledge-index.ts';
import type { PageText, PageToRead } from '#adapters/outbound/page-text.ts';
import type { PassageOfText, Scored, SearchedText } from '#domain/knowledge/knowledge.ts';
import { OutboundFailure, type OutboundFailureKind } from '#domain/platform/failures.ts';

interface TextWorks {
  rank: {
    work: { texts: readonly SearchedText[]; query: string; limit: number };
    result: Scored<PassageOfText>[];
  };
  search: { work: IndexSearch; result: SearchedIndex };
  'read page': { work: PageToRead; result: PageText };
}
type WorkType = keyof TextWorks;
export type TextWork = { [Type in WorkType]: { type: Type } & TextWorks[Type]['work'] }[WorkType];

export type TextWorkResponse =
  | { result: unknown }
  | { failure: { kind: OutboundFailureKind; message: string } }
  | { error: unknown };

export interface TextWorker {
  /**
   * The thread does one work at a time, and workspaces take turns.
   * @throws the signal's reason, if it has aborted when the work's turn comes; OutboundFailure from the work; another
   * Error if the work fails, or takes too long or too much memory
   */
  run<Type extends WorkType>(
    workspaceId: string,
    work: { type: Type } & TextWorks[Type]['work'],
    signal?: AbortSignal,
  ): Promise<TextWorks[Type]['result']>;
}

/** The slowest known work takes 5 s of a whole processor, and a function of 1,024 MB has about 0.6 of one. */
const workMilliseconds = 30_000;

/** In MB. The largest index takes about 400 while it is loaded. */
const heapMegabytes = 640;

/** Never rejects. */
type Waiting = () => Promise<void>;

export function textWorker(thread: URL, megabytes = heapMegabytes): TextWorker {
  const waiting = new Map<string, Waiting[]>();
  let worker: Worker | undefined;
  let isBusy = false;

  async function startNext(): Promise<void> {
    if (isBusy) return;
    isBusy = true;
    for (let next = takeTurn(waiting); next !== undefined; next = takeTurn(waiting)) await next();
    isBusy = false;
  }

  async function send(work: TextWork): Promise<TextWorkResponse> {
    worker ??= startThread(thread, megabytes);
    const current = worker;
    const timer = setTimeout(() => current.terminate(), workMilliseconds);
    try {
      return await responseTo(current, work);
    } catch (error) {
      worker = undefined;
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    run(workspaceId, work, signal) {
      const { promise, resolve, reject } = Promise.withResolvers<never>();
      const start = async () => {
        try {
          signal?.throwIfAborted();
          resolve(resultOf(await send(work as TextWork)) as never);
        } catch (error) {
          reject(error);
        }
      };
      waiting.set(workspaceId, [...(waiting.get(workspaceId) ?? []), start]);
      void startNext();
      return promise;
    },
  };
}

function takeTurn(waiting: Map<string, Waiting[]>): Waiting | undefined {
  const [turn] = waiting;
  if (turn === undefined) return undefined;
  const [workspaceId, [next, ...others]] = turn;
  waiting.delete(workspaceId);
  if (others.length > 0) waiting.set(workspaceId, others);
  return next;
}

function startThread(thread: URL, megabytes: number): Worker {
  const worker = new Worker(thread, { resourceLimits: { maxOldGenerationSizeMb: megabytes } });
  worker.unref();
  return worker;
}

function responseTo(worker: Worker, work: TextWork): Promise<TextWorkResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<TextWorkResponse>();
  const fail = () => reject(new Error(`The work "${work.type}" took too long`));
  worker.once('message', resolve).once('error', reject).once('exit', fail);
  worker.postMessage(work);
  return promise.finally(() => worker.off('message', resolve).off('error', reject).off('exit', fail));
}

function resultOf(response: TextWorkResponse): unknown {
  if ('result' in response) return response.result;
  throw 'failure' in response
    ? new OutboundFailure(response.failure.kind, response.failure.message)
    : response.error;
}
