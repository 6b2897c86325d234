import { Writable } from 'node:stream';
import type { MessageFromThread } from './messages.ts';

// If this many bytes are in transit, a write waits, so that a slow client does not fill the memory.
const CREDIT_BYTES = 64 * 1024;

type Send = (message: MessageFromThread, transfer?: ArrayBuffer[]) => void;

/** Texts of one tick may be sent together. */
export class ResponseStream extends Writable {
  prelude: string | undefined;
  readonly #send: Send;
  #unacknowledgedBytes = 0;
  #resumeWriting: (() => void) | undefined;
  #isBuffering = false;
  #buffered = '';
  #bufferedBytes = 0;

  constructor(send: Send) {
    super({ decodeStrings: false, defaultEncoding: 'utf8', highWaterMark: CREDIT_BYTES });
    this.#send = send;
  }

  credit(bytes: number): void {
    this.#unacknowledgedBytes -= bytes;
    if (this.#unacknowledgedBytes >= CREDIT_BYTES) return;
    const resume = this.#resumeWriting;
    this.#resumeWriting = undefined;
    resume?.();
  }

  override _write(chunk: string | Uint8Array, encoding: BufferEncoding, done: () => void): void {
    const { prelude = '' } = this;
    this.prelude = undefined;
    if (typeof chunk === 'string' && encoding === 'utf8') this.#forwardText(prelude + chunk);
    else {
      if (prelude !== '') this.#forwardText(prelude);
      this.#forwardBytes(typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk);
    }
    if (this.#unacknowledgedBytes < CREDIT_BYTES) done();
    else this.#resumeWriting = done;
  }

  override _final(done: () => void): void {
    this.flush();
    this.#send({ kind: 'end' });
    done();
  }

  flush(): void {
    if (this.#bufferedBytes === 0) return;
    const [chunk, bytes] = [this.#buffered, this.#bufferedBytes];
    this.#buffered = '';
    this.#bufferedBytes = 0;
    this.#send({ kind: 'chunk', chunk, bytes });
  }

  #forwardText(text: string): void {
    const bytes = Buffer.byteLength(text);
    this.#unacknowledgedBytes += bytes;
    this.#buffered += text;
    this.#bufferedBytes += bytes;
    if (this.#isBuffering) return;
    this.flush();
    this.#isBuffering = true;
    process.nextTick(() => {
      this.#isBuffering = false;
      this.flush();
    });
  }

  #forwardBytes(chunk: Uint8Array): void {
    this.flush();
    // A copy: a message with a view would contain its whole buffer, and the handler would lose this buffer.
    const copy = new Uint8Array(chunk);
    this.#unacknowledgedBytes += copy.byteLength;
    if (copy.byteLength > 0)
      this.#send({ kind: 'chunk', chunk: copy, bytes: copy.byteLength }, [copy.buffer]);
  }
}
