import { channel } from 'node:diagnostics_channel';
import { EventEmitter } from 'node:events';
import type { ClientRequest, IncomingMessage, OutgoingHttpHeaders, RequestOptions } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import type { EmulatorConnection, EmulatorResponse } from './emulator-connections.ts';

/** Where a request goes, known when its body is: to the engine, with these headers, or through the wire. */
export type Way =
  | { readonly connection: EmulatorConnection; readonly headers: OutgoingHttpHeaders }
  | { readonly wire: () => ClientRequest };

export interface EmulatorRequestOptions {
  readonly options: RequestOptions;
  readonly onAnswer: ((response: IncomingMessage) => void) | undefined;
  readonly chooseWay: (headers: OutgoingHttpHeaders, body: unknown) => Way;
}

// Where Node's own client tells of its requests.
const requestStart = channel('http.client.request.start');

/** As much of node:http's ClientRequest as the AWS SDK uses for a request whose body is one piece. */
export class EmulatorRequest extends EventEmitter {
  readonly method: string;
  readonly protocol = 'http:';
  readonly host: string;
  readonly path: string;
  socket: Socket | undefined;
  readonly #headers: OutgoingHttpHeaders;
  readonly #chooseWay: EmulatorRequestOptions['chooseWay'];
  #throughWire: ClientRequest | undefined;
  #isOver = false;

  constructor({ options, onAnswer, chooseWay }: EmulatorRequestOptions) {
    super();
    this.method = options.method ?? 'GET';
    this.host = options.host ?? '';
    this.path = options.path ?? '/';
    this.#headers = options.headers as OutgoingHttpHeaders;
    this.#chooseWay = chooseWay;
    if (onAnswer) this.once('response', onAnswer);
  }

  end(body?: string | Buffer): this {
    const way = this.#chooseWay(this.#headers, body);
    if ('wire' in way) this.#pass(way.wire(), body);
    else {
      if (requestStart.hasSubscribers) requestStart.publish({ request: this });
      this.#exchange(way.connection, way.headers, body ?? '');
    }
    return this;
  }

  destroy(error?: Error): this {
    if (this.#throughWire) this.#throughWire.destroy(error);
    else if (!this.#isOver) {
      this.#finish(error);
      this.socket?.destroy();
    }
    return this;
  }

  setTimeout(milliseconds: number, onTimeout?: () => void): this {
    if (this.socket) this.socket.setTimeout(milliseconds, onTimeout);
    else this.once('socket', (socket: Socket) => socket.setTimeout(milliseconds, onTimeout));
    return this;
  }

  #pass(request: ClientRequest, body: unknown): void {
    this.#throughWire = request;
    for (const event of ['error', 'socket', 'response', 'close'])
      request.on(event, (...given: unknown[]) => {
        if (event === 'socket') this.socket = given[0] as Socket;
        this.emit(event, ...given);
      });
    request.end(body);
  }

  #exchange(
    { socket, exchange }: EmulatorConnection,
    headers: OutgoingHttpHeaders,
    body: string | Buffer,
  ): void {
    this.socket = socket;
    this.emit('socket', socket);
    let head = `${this.method} ${this.path} HTTP/1.1\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`;
    for (const name in headers)
      if (name !== 'content-length') head += `${name}: ${String(headers[name])}\r\n`;
    head += '\r\n';
    exchange(
      typeof body === 'string' ? head + body : Buffer.concat([Buffer.from(head), body]),
      (response) => {
        if (this.#isOver) return;
        this.emit('response', asIncomingMessage(response));
        this.#finish();
      },
      (error) => this.#finish(error),
    );
  }

  #finish(error?: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (error) this.emit('error', error);
    this.emit('close');
  }
}

function asIncomingMessage({ status, reason, headers, body }: EmulatorResponse): Readable {
  const message = new Readable({ read() {} });
  message.push(body);
  message.push(null);
  return Object.assign(message, { statusCode: status, statusMessage: reason, headers });
}
