import {
  ApiError,
  ChatBatchError,
  ConnectionError,
  type PartialReply,
  ReplyFailedError,
  StreamInterruptedError,
  StreamTimeoutError,
} from './errors.ts';
import type { StoppedReply, StreamEvent, TokenUsage } from './schema.ts';
import { connectionErrorOf, markAsPerhapsProcessed, type OpenResponse } from './transport.ts';
import { onAbort, sleep, startTimer } from './waiting.ts';

export interface Reply {
  /** The id of the reply in the history, for feedback. */
  id: number;
  chat_id: number;
  response_id: string;
  text: string;
  usage: TokenUsage;
  /** Why the reply was cut short without an error, such as `stopped`. */
  incomplete?: string;
}

export interface FinalMessage extends Reply {
  /** The generated title of the chat, if this stream had it. */
  title?: string;
}

export interface StreamSource {
  chatId: number;
  /** If `isResumable`, this is called again after a connection without any event, so a repeated call must be safe. */
  open: (signal: AbortSignal) => Promise<OpenResponse>;
  resume: (responseId: string, startingAfter: number, signal: AbortSignal) => Promise<OpenResponse>;
  stop: (responseId: string | undefined) => Promise<StoppedReply>;
  /** Undefined except in a stream of `messages.resume`. */
  responseId: string | undefined;
  isResumable: boolean;
  /** Whether the stream starts after a known event. It may then end without a reply. */
  isContinued: boolean;
  /** The maximum of consecutive resumes that bring no event. */
  maxResumes: number;
  delay: (resume: number) => number;
  /** Milliseconds without data after which a connection counts as lost. */
  silence: number;
  onRetry: (error: unknown, milliseconds: number) => void;
  signal: AbortSignal | undefined;
}

/**
 * A streamed reply. Leaving the loop, aborting the signal and `disconnect()` end the connection; `stop()` ends the
 * reply.
 *
 * Iteration throws errors such as `ApiError`, `ReplyFailedError` and `StreamInterruptedError`, and the reason of an
 * aborted signal.
 */
export class ReplyStream implements AsyncIterable<StreamEvent> {
  readonly #source: StreamSource;
  readonly #first: Promise<OpenResponse>;
  readonly #final = promiseWithResolvers<FinalMessage>();
  readonly #abort = new AbortController();
  #isRead = false;
  #last: StreamEvent | undefined;
  #messageId: number | undefined;
  #text = '';
  #title: string | undefined;
  #requestId: string | undefined;
  #completed: FinalMessage | undefined;

  /** @internal */
  constructor(source: StreamSource) {
    this.#source = source;
    const { signal } = source;
    onAbort(signal, () => this.#abort.abort(signal?.reason));
    if (signal?.aborted === true) this.#abort.abort(signal.reason);
    this.#first = source.open(this.#abort.signal).then(rejectOtherServers);
    // A failure must not become an unhandled rejection if nobody waits for these promises.
    this.#first.catch(() => undefined);
    this.#final.promise.catch(() => undefined);
  }

  /** To resume or stop the reply; undefined before the first event, except in a stream of `messages.resume`. */
  get responseId(): string | undefined {
    return this.#last?.response_id ?? this.#source.responseId;
  }

  /** The number of the last event, after which a resume starts; undefined before the first event. */
  get sequenceNumber(): number | undefined {
    return this.#last?.sequence_number;
  }

  /** The text that this stream has received so far. */
  get text(): string {
    return this.#text;
  }

  /** The request id of the latest connection; undefined before the stream is read. */
  get requestId(): string | undefined {
    return this.#requestId;
  }

  [Symbol.asyncIterator](): AsyncGenerator<StreamEvent, void, undefined> {
    const events = this.#iterate();
    const leave = events.return.bind(events);
    // Without `disconnect`, `leave` would wait for a `next` that is pending.
    return Object.assign(events, {
      return: () => {
        this.disconnect();
        return leave();
      },
    });
  }

  /**
   * Ends the connection: a loop that reads throws a `ChatBatchError`. A message that the service has received still
   * gets its reply.
   */
  disconnect(): void {
    this.#abort.abort(new ChatBatchError('The reader has left the stream before its end'));
  }

  async *#iterate(): AsyncGenerator<StreamEvent, void, undefined> {
    if (this.#isRead) throw new ChatBatchError('The stream is read already: it has one reader');
    this.#isRead = true;
    try {
      for await (const event of this.#events()) {
        this.#note(event);
        yield event;
      }
      if (this.#completed === undefined && this.#source.isContinued) return;
      if (this.#completed === undefined) throw this.#interrupted('The stream has ended without a reply');
      this.#final.resolve({ ...this.#completed, ...(this.#title !== undefined && { title: this.#title }) });
    } catch (error) {
      this.#final.reject(error);
      throw error;
    } finally {
      // No effect if the promise is settled. Otherwise the reader has left, or the stream started after the end of the
      // reply.
      this.#final.reject(new ChatBatchError('The reader has left the stream before its end'));
    }
  }

  /**
   * Returns the complete reply. Reads the stream, if no loop does.
   * @throws what the iteration throws; ChatBatchError if the loop was left early, or if the stream started after the
   * end of the reply
   */
  async finalMessage(): Promise<FinalMessage> {
    if (!this.#isRead) for await (const _ of this);
    return await this.#final.promise;
  }

  /**
   * Ends the reply on the service, which stores the text so far. Without a `responseId`, this ends whatever reply is in
   * progress in the chat.
   * @throws BadRequestError, for example if no reply is in progress any more
   */
  async stop(): Promise<StoppedReply> {
    if (this.responseId === undefined) await this.#first;
    return await this.#source.stop(this.responseId);
  }

  async *#events(): AsyncGenerator<StreamEvent> {
    try {
      yield* this.#connections();
    } catch (error) {
      // After a complete reply, only a new name of the chat may be missing.
      if (!(error instanceof StreamInterruptedError) || this.#completed === undefined) throw error;
    }
  }

  async *#connections(): AsyncGenerator<StreamEvent> {
    const { isResumable, maxResumes, delay, onRetry } = this.#source;
    let connection = await this.#first;
    for (let resumes = 0; ; resumes += 1) {
      this.#requestId = connection.response.headers.get('x-request-id') ?? undefined;
      try {
        for await (const event of this.#read(connection)) {
          resumes = 0;
          yield event;
        }
        return;
      } catch (error) {
        if (!(error instanceof StreamInterruptedError) || !isResumable || resumes >= maxResumes) throw error;
        connection.close();
        const wait = resumes === 0 ? 0 : delay(resumes);
        onRetry(error, wait);
        await sleep(wait, this.#abort.signal);
      } finally {
        connection.close();
      }
      connection = await this.#reopen();
    }
  }

  async #reopen(): Promise<OpenResponse> {
    const { open, resume } = this.#source;
    const { signal } = this.#abort;
    try {
      if (this.#last === undefined) return await open(signal);
      return await resume(this.#last.response_id, this.#last.sequence_number, signal);
    } catch (error) {
      // The request was sent before, and its response has started.
      markAsPerhapsProcessed(error);
      const isRejectedResume = error instanceof ApiError && this.#last !== undefined;
      if (!(error instanceof ConnectionError) && !isRejectedResume) throw error;
      throw this.#interrupted(`The stream was interrupted: ${error.message}`, error);
    }
  }

  async *#read(connection: OpenResponse): AsyncGenerator<StreamEvent> {
    const { silence } = this.#source;
    const { signal } = this.#abort;
    const timeout = new StreamTimeoutError(`The stream was silent for ${silence} ms`, this.#partial());
    try {
      for await (const data of readEventData(connection, silence, timeout)) {
        signal.throwIfAborted();
        if (data === '[DONE]') return;
        const event = this.#parse(data);
        if (event.type === 'response.error') throw this.#failure(event);
        if (!this.#isKnown(event)) yield event;
      }
    } catch (error) {
      signal.throwIfAborted();
      if (error === timeout) throw new StreamTimeoutError(timeout.message, this.#partial());
      if (error instanceof ChatBatchError) throw error;
      const cause = connectionErrorOf(error);
      throw this.#interrupted(`The stream was interrupted: ${cause.message}`, cause);
    }
    throw this.#interrupted('The stream has ended early, without [DONE]');
  }

  #parse(data: string): StreamEvent {
    try {
      return JSON.parse(data) as StreamEvent;
    } catch {
      throw this.#interrupted('The stream has an incomplete event');
    }
  }

  #isKnown({ response_id, sequence_number }: StreamEvent): boolean {
    return response_id === this.#last?.response_id && sequence_number <= this.#last.sequence_number;
  }

  #failure(event: StreamEvent & { type: 'response.error' }): ChatBatchError {
    // The service ends the stream of a slow reader with an error that has the number of the last event. The reply
    // continues.
    if (this.#isKnown(event)) return this.#interrupted(event.message);
    const partial = { ...this.#partial(), responseId: event.response_id };
    return new ReplyFailedError(event, partial);
  }

  #note(event: StreamEvent): void {
    this.#last = event;
    if (event.type === 'response.created') this.#messageId = event.message_id;
    if (event.type === 'response.output_text.delta') this.#text += event.delta;
    if (event.type === 'response.chat.title.updated') this.#title = event.name;
    if (event.type !== 'response.output_text.completed') return;
    const { message_id, chat_id, response_id, final_text, usage, incomplete } = event;
    this.#completed = {
      ...{ id: message_id, chat_id, response_id, text: final_text, usage },
      ...(incomplete !== undefined && { incomplete }),
    };
  }

  #partial(): PartialReply {
    return {
      chatId: this.#source.chatId,
      responseId: this.responseId,
      messageId: this.#messageId,
      text: this.#text,
      requestId: this.#requestId,
    };
  }

  #interrupted(message: string, cause?: unknown): StreamInterruptedError {
    return new StreamInterruptedError(message, this.#partial(), cause);
  }
}

/** Comments, which keep the connection open, also end a silence. */
async function* readEventData(
  connection: OpenResponse,
  silence: number,
  timeout: Error,
): AsyncGenerator<string> {
  let data: string[] = [];
  for await (const line of readLines(connection, silence, timeout)) {
    if (line.startsWith('data:')) data.push(line.slice(line.startsWith('data: ') ? 6 : 5));
    if (line !== '' || data.length === 0) continue;
    yield data.join('\n');
    data = [];
  }
}

async function* readLines(
  { response, close }: OpenResponse,
  silence: number,
  timeout: Error,
): AsyncGenerator<string> {
  const reader = response.body?.getReader();
  if (reader === undefined) return;
  const decoder = new TextDecoder();
  /** The start of the last line, in chunks: an event may have megabytes. */
  let chunks: string[] = [];
  for (;;) {
    const endTimer = startTimer(silence, () => close(timeout));
    const { value, done } = await reader.read().finally(endTimer);
    if (done) return;
    const lines = decoder.decode(value, { stream: true }).split('\n');
    for (const line of lines.slice(0, -1)) {
      const whole = chunks.join('') + line;
      chunks = [];
      yield whole.endsWith('\r') ? whole.slice(0, -1) : whole;
    }
    chunks.push(lines.at(-1) ?? '');
  }
}

function rejectOtherServers(connection: OpenResponse): OpenResponse {
  const { response, close } = connection;
  if (response.headers.get('content-type')?.startsWith('text/event-stream') === true) return connection;
  close();
  throw new ChatBatchError('The response is no stream of this service: is baseUrl the base address?');
}

/** Only newer runtimes have `Promise.withResolvers`. */
function promiseWithResolvers<Value>() {
  let resolve: (value: Value) => void = () => undefined;
  let reject: (error: unknown) => void = () => undefined;
  const promise = new Promise<Value>((onValue, onError) => {
    resolve = onValue;
    reject = onError;
  });
  return { promise, resolve, reject };
}
