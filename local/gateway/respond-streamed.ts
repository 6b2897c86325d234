import type { ServerResponse } from 'node:http';
import type { InvokableFunction, ResponseSink } from '../lambda/invokable-function.ts';
import type { ApiModel, FunctionIntegration } from './api-model.ts';
import { GatewayFailure } from './gateway-failure.ts';
import { type ProxyHead, responseHeaders, responseStatus } from './response-headers.ts';

// Eight NUL bytes separate the metadata, of at most 16 KiB, from the body.
const DELIMITER = Buffer.alloc(8);
const MAX_METADATA_BYTES = 16 * 1024;

/**
 * Resolves when the response is closed; the function may run longer.
 * @throws GatewayFailure if the function is throttled or fails before its response has ended, or if the response times
 * out or has no valid metadata
 */
export function respondStreamed(
  api: ApiModel,
  { timeoutMilliseconds }: FunctionIntegration,
  fn: InvokableFunction,
  payload: string,
  response: ServerResponse,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let readMetadata: MetadataReader | undefined = createMetadataReader();
    // If true, what the function writes is acknowledged and dropped, so that the function can continue.
    let closed = false;
    const pendingWrites = new Set<() => void>();

    const close = (): void => {
      closed = true;
      clearTimeout(deadline);
      clearTimeout(idleTimeout);
      for (const written of pendingWrites) written();
      pendingWrites.clear();
    };
    const fail = (type: GatewayFailure['responseType']): void => {
      if (closed) return;
      close();
      // After the headers there can be no error response.
      if (response.headersSent) response.destroy();
      reject(new GatewayFailure(type));
    };
    const deadline = setTimeout(fail, timeoutMilliseconds, 'INTEGRATION_TIMEOUT');
    const idleTimeout = setTimeout(fail, api.streamIdleMilliseconds, 'INTEGRATION_TIMEOUT');
    response.on('close', () => {
      if (!closed) close();
      resolve();
    });

    function forward(chunk: string | Uint8Array, written: () => void): void {
      const onWritten = () => {
        if (pendingWrites.delete(onWritten)) written();
      };
      pendingWrites.add(onWritten);
      response.write(chunk, onWritten);
    }

    function start(read: MetadataReader, chunk: string | Uint8Array, written: () => void): void {
      const metadata = read(chunk);
      if (typeof metadata === 'object') {
        readMetadata = undefined;
        response.writeHead(metadata.status, metadata.headers);
        if (metadata.rest.length > 0) return void forward(metadata.rest, written);
        response.flushHeaders();
      } else if (metadata === 'invalid') fail('DEFAULT_5XX');
      written();
    }

    const sink: ResponseSink = {
      write(chunk, written) {
        if (closed) return written();
        idleTimeout.refresh();
        if (readMetadata) start(readMetadata, chunk, written);
        else forward(chunk, written);
      },
      end() {
        if (readMetadata) fail('DEFAULT_5XX');
        else if (!closed) response.end();
      },
    };
    void fn.invoke(payload, sink).then((result) => {
      if (!result.succeeded && !response.writableEnded)
        fail(result.throttle === undefined ? 'DEFAULT_5XX' : 'INTEGRATION_FAILURE');
    });
  });
}

type MetadataReader = ReturnType<typeof createMetadataReader>;

function createMetadataReader() {
  let received: Buffer = Buffer.alloc(0);
  return (chunk: string | Uint8Array) => {
    received = Buffer.concat([received, Buffer.from(chunk as Uint8Array)]);
    const end = received.indexOf(DELIMITER);
    if (end < 0 || end > MAX_METADATA_BYTES)
      return received.length > MAX_METADATA_BYTES ? 'invalid' : 'incomplete';
    const head = readHead(received.subarray(0, end));
    return head ? { ...head, rest: received.subarray(end + DELIMITER.length) } : 'invalid';
  };
}

function readHead(metadata: Buffer) {
  try {
    const head = { statusCode: 200, ...(JSON.parse(metadata.toString()) as ProxyHead) };
    const status = responseStatus(head);
    const headers = responseHeaders(head);
    return status === undefined || !headers ? undefined : { status, headers };
  } catch {
    return undefined;
  }
}
