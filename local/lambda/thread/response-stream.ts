import { Writable } from 'node:stream';
import type { MessageFromThread } from './messages.ts';

// What may be under way between function and client before a write has to wait. As large as a socket's usual
// buffer, so a single slow reader holds back its own function and nothing else.
const CREDIT_BYTES = 64 * 1024;

type Send = (message: MessageFromThread, transfer?: ArrayBuffer[]) => void;

/**
 * The stream that a streaming handler writes to. The first write of a turn of the event loop goes straight to the main
 * thread, what follows in the same turn together behind it: as with AWS's runtime, whose socket is corked meanwhile.
 */
export class ResponseStream extends Writable {
  contentType: string | undefined;
  /** Written ahead of the first chunk, in the same message: the response's status and headers. */
  prelude: string | undefined;
  readonly #send: Send;
  #underWay = 0;
  #waiting: (() => void) | undefined;
  #isGathering = false;
  #gathered = '';
  #gatheredBytes = 0;

  constructor(send: Send) {
    super({ decodeStrings: false, defaultEncoding: 'utf8', highWaterMark: CREDIT_BYTES });
    this.#send = send;
  }

  setContentType(contentType: string): void {
    this.contentType = contentType;
  }

  /** The main thread has passed on this many bytes. */
  credit(bytes: number): void {
    this.#underWay -= bytes;
    if (this.#underWay >= CREDIT_BYTES) return;
    const resume = this.#waiting;
    this.#waiting = undefined;
    resume?.();
  }

  override _write(chunk: string | Uint8Array, encoding: BufferEncoding, done: () => void): void {
    if (this.prelude !== undefined) {
      const prelude = this.prelude;
      this.prelude = undefined;
      this.#pass(typeof chunk === 'string' && encoding === 'utf8' ? prelude + chunk : prelude);
      if (typeof chunk !== 'string' || encoding !== 'utf8') this.#pass(chunk, encoding);
    } else {
      this.#pass(chunk, encoding);
    }
    if (this.#underWay < CREDIT_BYTES) done();
    else this.#waiting = done;
  }

  override _final(done: () => void): void {
    this.flush();
    this.#send({ kind: 'end' });
    done();
  }

  /** Passes on what has been gathered, at once. */
  flush(): void {
    if (this.#gatheredBytes === 0) return;
    const [chunk, bytes] = [this.#gathered, this.#gatheredBytes];
    this.#gathered = '';
    this.#gatheredBytes = 0;
    this.#send({ kind: 'chunk', chunk, bytes });
  }

  #pass(chunk: string | Uint8Array, encoding: BufferEncoding = 'utf8'): void {
    if (typeof chunk === 'string' && encoding === 'utf8') {
      const bytes = Buffer.byteLength(chunk);
      this.#underWay += bytes;
      this.#gathered += chunk;
      this.#gatheredBytes += bytes;
      if (this.#isGathering) return;
      this.flush();
      this.#isGathering = true;
      process.nextTick(() => {
        this.#isGathering = false;
        this.flush();
      });
      return;
    }
    this.flush();
    // A copy of its own: cloning a view would take the whole pool behind it along, and the handler keeps its buffer.
    const copy = new Uint8Array(typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk);
    this.#underWay += copy.byteLength;
    if (copy.byteLength > 0)
      this.#send({ kind: 'chunk', chunk: copy, bytes: copy.byteLength }, [copy.buffer]);
  }
}
