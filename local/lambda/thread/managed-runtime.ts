import type { ResponseStream } from './response-stream.ts';

// The managed runtime sets this property on a streaming handler.
const STREAMING = Symbol.for('aws.lambda.runtime.handler.streaming');

const DELIMITER = '\0'.repeat(8);

export type Handler = (event: unknown, ...rest: unknown[]) => unknown;

/** The global `awslambda` of the managed Node.js runtime. */
export const awslambda = {
  streamifyResponse: (handler: Handler): Handler => Object.assign(handler, { [STREAMING]: 'response' }),

  HttpResponseStream: {
    /** As in AWS, the metadata is sent with the first write: a response without a write has no status. */
    from(stream: ResponseStream, metadata: Record<string, unknown>): ResponseStream {
      stream.prelude = JSON.stringify(metadata) + DELIMITER;
      return stream;
    },
  },
};

export function isStreaming(handler: Handler): boolean {
  return (handler as unknown as Record<symbol, unknown>)[STREAMING] === 'response';
}
