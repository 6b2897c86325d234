import { Readable } from 'node:stream';
import { success } from '#contract/envelope.ts';
import { bytesPerToken } from '#contract/rate-limits.ts';
import { route } from '#contract/routes/upload-file.ts';
import { measurements } from '#runtime/observability/invocation.ts';
import { jsonResponse } from './http-response.ts';
import { observedRoute } from './observed-route.ts';
import { startRateLimit } from './rate-limiter.ts';
import { callerOf, headerIn } from './read-request.ts';
import type { receiveUpload } from './receive-upload.ts';

/** As large as those of a connection: the parser leaves out what follows the end of a form, but not within a chunk. */
const chunkBytes = 64 * 1024;

function* inChunks(body: Buffer): Generator<Buffer, void, undefined> {
  for (let start = 0; start < body.length; start += chunkBytes)
    yield body.subarray(start, start + chunkBytes);
}

/** The Lambda handler of the upload route. The gateway buffers the form and encodes it in base64. */
export const uploadRoute = (receive: ReturnType<typeof receiveUpload>) =>
  observedRoute(route, async (event) => {
    const caller = callerOf(event);
    const limiter = startRateLimit(event, route.rateClass, caller);
    const file = await limiter.through(async () => {
      await limiter.awaitRateLimit();
      return receive({
        caller,
        contentType: headerIn(event, 'content-type'),
        body: Readable.from(
          inChunks(Buffer.from(event.body ?? '', event.isBase64Encoded ? 'base64' : 'utf8')),
        ),
      });
    });
    limiter.charge({ uploadedMegabytes: file.size / bytesPerToken });
    measurements.add('uploadedBytes', file.size, { route: route.name });
    return jsonResponse(route.status, success(file), event.requestContext.requestId, limiter.headers());
  });
