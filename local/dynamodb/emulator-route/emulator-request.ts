import { channel } from 'node:diagnostics_channel';
import { EventEmitter } from 'node:events';
import type { ClientRequest, IncomingMessage, OutgoingHttpHeaders, RequestOptions } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import type { EmulatorConnection, EmulatorResponse } from './emulator-connections.ts';

export type Destination =
  | { readonly connection: EmulatorConnection; readonly headers: OutgoingHttpHeaders }
  | { readonly wire: () => ClientRequest };

type ChooseDestination = (headers: OutgoingHttpHeaders, body: unknown) => Destination;

// Node's HTTP client publishes its requests to this channel, which local/lambda/thread/guards.ts reads.
const requestStart = channel('http.client.request.start');

/** Enough of a ClientRequest for the AWS SDK, for a request with a string or Buffer as its body. */
export class EmulatorRequest extends EventEmitter {
  readonly method: string;
  readonly protocol = 'http:';
  readonly host: string;
  readonly path: string;
  socket: Socket | undefined;
  readonly #headers: OutgoingHttpHeaders;
  readonly #chooseDestination: ChooseDestination;
  #wireRequest: ClientRequest | undefined;
  #hasEnded = false;

  constructor(
    options: RequestOptions,
    onResponse: ((response: IncomingMessage) => void) | undefined,
    chooseDestination: ChooseDestination,
  ) {
    super();
    this.method = options.method ?? 'GET';
    this.host = options.host ?? '';
    this.path = options.path ?? '/';
    this.#headers = options.headers as OutgoingHttpHeaders;
    this.#chooseDestination = chooseDestination;
    if (onResponse) this.once('response', onResponse);
  }

  end(body?: string | Buffer): this {
    const destination = this.#chooseDestination(this.#headers, body);
    if ('wire' in destination) this.#forward(destination.wire(), body);
    else {
      if (requestStart.hasSubscribers) requestStart.publish({ request: this });
      this.#exchange(destination.connection, destination.headers, body ?? '');
    }
    return this;
  }

  destroy(error?: Error): this {
    if (this.#wireRequest) this.#wireRequest.destroy(error);
    else if (!this.#hasEnded) {
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

  #forward(request: ClientRequest, body: unknown): void {
    this.#wireRequest = request;
    for (const event of ['error', 'socket', 'response', 'close'])
      request.on(event, (...args: unknown[]) => {
        if (event === 'socket') this.socket = args[0] as Socket;
        this.emit(event, ...args);
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
        if (this.#hasEnded) return;
        this.emit('response', asIncomingMessage(response));
        this.#finish();
      },
      (error) => this.#finish(error),
    );
  }

  #finish(error?: Error): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
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
