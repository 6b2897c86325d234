import type { ServerResponse } from 'node:http';
import type { InvokableFunction, ResponseSink } from '../lambda/invokable-function.ts';
import type { ApiModel, FunctionIntegration } from './api-model.ts';
import { GatewayFailure } from './gateway-failure.ts';
import { type ProxyHead, responseHeaders, responseStatus } from './response-headers.ts';

// Metadata and body are parted by eight NUL bytes, which must come within the first 16 KB.
const DELIMITER = Buffer.alloc(8);
const MAX_METADATA_BYTES = 16 * 1024;

/**
 * A proxy integration that passes the answer on as it is written. Resolves with the end of the response, which may
 * come before the function's. AWS sends such a function one more event that is no proxy event; this gateway does not.
 */
export function respondStreamed(
  api: ApiModel,
  { timeoutMilliseconds }: FunctionIntegration,
  fn: InvokableFunction,
  payload: string,
  response: ServerResponse,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let metadata: Buffer | undefined = Buffer.alloc(0);
    // From here on whatever the function writes is thrown away, at once, so that it comes to its own end.
    let closed = false;
    const underWay = new Set<() => void>();

    const close = (): void => {
      closed = true;
      clearTimeout(deadline);
      clearTimeout(silence);
      for (const written of underWay) written();
      underWay.clear();
    };
    const fail = (failure: GatewayFailure): void => {
      if (closed) return;
      close();
      // Nothing can be said after the head: the connection breaks off, so the client knows.
      if (response.headersSent) response.destroy();
      reject(failure);
    };
    const deadline = setTimeout(() => fail(new GatewayFailure('INTEGRATION_TIMEOUT')), timeoutMilliseconds);
    const silence = setTimeout(
      () => fail(new GatewayFailure('INTEGRATION_TIMEOUT')),
      api.streamIdleMilliseconds,
    );
    response.on('close', () => {
      if (!closed) close();
      resolve();
    });

    function pass(chunk: string | Uint8Array, written: () => void): void {
      const once = () => {
        if (underWay.delete(once)) written();
      };
      underWay.add(once);
      response.write(chunk, once);
    }

    function readMetadata(chunk: string | Uint8Array, written: () => void): void {
      metadata = Buffer.concat([metadata ?? DELIMITER, Buffer.from(chunk as Uint8Array)]);
      const end = metadata.indexOf(DELIMITER);
      if (end < 0 || end > MAX_METADATA_BYTES) {
        if (metadata.length > MAX_METADATA_BYTES) fail(new GatewayFailure('DEFAULT_5XX'));
        written();
        return;
      }
      const head = readHead(metadata.subarray(0, end));
      if (!head) {
        fail(new GatewayFailure('DEFAULT_5XX'));
        written();
        return;
      }
      const rest = metadata.subarray(end + DELIMITER.length);
      metadata = undefined;
      response.writeHead(head.status, head.headers);
      if (rest.length > 0) pass(rest, written);
      else {
        response.flushHeaders();
        written();
      }
    }

    const sink: ResponseSink = {
      write(chunk, written) {
        if (closed) return written();
        silence.refresh();
        if (metadata) readMetadata(chunk, written);
        else pass(chunk, written);
      },
      end() {
        if (metadata) fail(new GatewayFailure('DEFAULT_5XX'));
        else if (!closed) response.end();
      },
    };
    void fn.invoke(payload, sink).then((result) => {
      if (!result.succeeded && !response.writableEnded)
        fail(new GatewayFailure(result.throttle === undefined ? 'DEFAULT_5XX' : 'INTEGRATION_FAILURE'));
    });
  });
}

function readHead(metadata: Buffer): { status: number; headers: string[] } | undefined {
  try {
    const head = { statusCode: 200, ...(JSON.parse(metadata.toString()) as ProxyHead) };
    const status = responseStatus(head);
    const headers = responseHeaders(head);
    return status === undefined || !headers ? undefined : { status, headers };
  } catch {
    return undefined;
  }
}
