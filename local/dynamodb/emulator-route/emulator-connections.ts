import { Socket } from 'node:net';
import { createResponseReader, type EmulatorResponse } from './emulator-response.ts';

export interface EmulatorConnection {
  readonly socket: Socket;
  /** Sends one request at a time. The connection is idle again when the response is complete. */
  exchange(
    request: string | Buffer,
    onResponse: (response: EmulatorResponse) => void,
    onError: (error: Error) => void,
  ): void;
}

// Node's own `connect`, read before `rejectRunnerPorts` replaces it: the emulator's port is a port of the runner.
const { connect } = Socket.prototype;

/**
 * Persistent connections to the emulator. Node's HTTP client would need twice the processor time for a call: together a
 * tenth of the processor time of a chat's reply.
 */
export function emulatorConnections({ hostname, port }: URL): { take(): EmulatorConnection } {
  const idle: EmulatorConnection[] = [];

  function open(): EmulatorConnection {
    const socket = new Socket().setNoDelay().setKeepAlive(true);
    Reflect.apply(connect, socket, [Number(port), hostname]);
    let pending:
      | { onResponse: (response: EmulatorResponse) => void; onError: (error: Error) => void }
      | undefined;
    const read = createResponseReader();

    const connection: EmulatorConnection = {
      socket,
      exchange(request, onResponse, onError) {
        pending = { onResponse, onError };
        socket.ref();
        socket.write(request);
      },
    };

    function receive(chunk: Buffer): void {
      if (pending === undefined) throw new Error('The emulator sent unexpected data');
      const response = read(chunk);
      if (response === undefined) return;
      const { onResponse } = pending;
      pending = undefined;
      // The emulator responds to a rejected request while it is still being written. Such a connection is not reused.
      if (response.headers.connection?.toLowerCase() === 'close' || socket.writableLength > 0) socket.end();
      else {
        idle.push(connection);
        socket.unref();
      }
      onResponse(response);
    }

    socket.on('data', (chunk: Buffer) => {
      try {
        receive(chunk);
      } catch (error) {
        socket.destroy(error as Error);
      }
    });
    socket.on('error', (error) => {
      pending?.onError(error);
      pending = undefined;
    });
    socket.on('close', () => {
      const index = idle.indexOf(connection);
      if (index >= 0) idle.splice(index, 1);
      // Node's HTTP client fails with this error, and the SDK retries calls that fail with it.
      pending?.onError(Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' }));
      pending = undefined;
    });
    return connection;
  }

  return { take: () => idle.pop() ?? open() };
}
