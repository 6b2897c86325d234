import { Readable } from 'node:stream';
import { filetypemime } from 'magic-bytes.js';
import { bytesPerToken } from '#contract/rate-limits.ts';
import { uploadFileRoute } from '#contract/routes/files.ts';
import { uploadedFileResource } from '#domain/files/attachments.ts';
import type { ContentDetector } from '#domain/files/files.ts';
import { storeUpload } from '#domain/files/store-upload.ts';
import { files } from '#runtime/composition/object-stores.ts';
import { clock, fileIndex, log, meter, usage } from '#runtime/composition/services.ts';
import { identifiers } from '#runtime/environment/invocation-context.ts';
import { readForm } from '#runtime/http/read-form.ts';
import { headerIn } from '#runtime/http/request.ts';
import { serveRoute } from '#runtime/http/serve-route.ts';
import { measurements } from '#runtime/observability/invocation.ts';

/** Newer Office files are ZIP archives, so the library returns several types for an archive. */
const contentDetector: ContentDetector = { detect: (start) => [...new Set(filetypemime(start))] };

const services = {
  clock,
  contentDetector,
  fileIndex: fileIndex(),
  files: files(),
  identifiers,
  log,
  meter,
  usage: usage(),
};

/** After the end of a form, the parser still searches the rest of the chunk, but no further chunks. */
const chunkBytes = 64 * 1024;

function* inChunks(body: Buffer): Generator<Buffer, void, undefined> {
  for (let start = 0; start < body.length; start += chunkBytes)
    yield body.subarray(start, start + chunkBytes);
}

export const serve = serveRoute(uploadFileRoute, async ({ workspaceId, apiKeyId }, { request, charge }) => {
  const body = request.upload ?? Readable.from(inChunks(Buffer.from(await request.body())));
  const form = readForm(headerIn(request, 'content-type'), body);
  const file = await uploadedFileResource(
    services,
    await storeUpload(services, { workspaceId, apiKeyId }, form),
  );
  charge({ uploadedMegabytes: file.size / bytesPerToken });
  measurements.add('uploadedBytes', file.size, { route: uploadFileRoute.name });
  return { data: file };
});
