import type { ResponseStream } from './response-stream.ts';

// The mark that the managed runtime puts on a handler, so that wrappers which look for it find it here too.
const STREAMING = Symbol.for('aws.lambda.runtime.handler.streaming');

// Metadata and body are parted by eight NUL bytes.
const DELIMITER = '\0'.repeat(8);

export type Handler = (event: unknown, ...rest: unknown[]) => unknown;

/** The global `awslambda` of the managed Node.js runtime. */
export const awslambda = {
  streamifyResponse(handler: Handler, options?: { highWaterMark?: number }): Handler {
    return Object.assign(handler, {
      [STREAMING]: 'response',
      [Symbol.for('aws.lambda.runtime.handler.streaming.highWaterMark')]: options?.highWaterMark,
    });
  },

  HttpResponseStream: {
    /** As in AWS, the metadata leaves with the first write: a response without one has no status. */
    from(stream: ResponseStream, metadata: Record<string, unknown>): ResponseStream {
      stream.setContentType('application/vnd.awslambda.http-integration-response');
      stream.prelude = JSON.stringify(metadata) + DELIMITER;
      return stream;
    },
  },
};

export function isStreaming(handler: Handler): boolean {
  return (handler as unknown as Record<symbol, unknown>)[STREAMING] === 'response';
}
