/** Most functions that need this module import it at the first use, because the S3 client takes long to load. */
import { LambdaClient } from '@aws-sdk/client-lambda';
import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import { DEFAULT_MAX_ATTEMPTS } from '@smithy/core/retry';
import { attachmentReader } from '#adapters/attachment-reader.ts';
import { s3IndexObjects } from '#adapters/knowledge/knowledge-index.ts';
import { s3PreparedAttachments } from '#adapters/prepared-attachments.ts';
import { s3ContentStore, s3FileStore, s3WorkspaceObjects } from '#adapters/s3-objects.ts';
import type { AttachmentReader, PreparationLeases } from '#domain/files/files.ts';
import type { Shares } from '#domain/platform/shares.ts';
import { clientTimeouts, DeadlineRetries, environment, lazily } from '#runtime/environment/environment.ts';
import { clock } from '#runtime/environment/invocation-context.ts';

/** A file may have 50 MB. */
const forMegabytes = { ...clientTimeouts, requestTimeout: 30_000 };

const clientWith = (
  requestHandler: NonNullable<S3ClientConfig['requestHandler']>,
  others: S3ClientConfig = {},
): S3Client =>
  new S3Client({ requestHandler, retryStrategy: new DeadlineRetries(DEFAULT_MAX_ATTEMPTS), ...others });

export const files = /* @__PURE__ */ lazily(() =>
  s3FileStore(clientWith(forMegabytes), environment('fileBucket')),
);

/** Without `WHEN_REQUIRED`, presigned addresses for uploads would require the checksum of an empty body. */
export const preparedAttachments = /* @__PURE__ */ lazily(() =>
  s3PreparedAttachments(
    clientWith(forMegabytes, { requestChecksumCalculation: 'WHEN_REQUIRED' }),
    environment('contentBucket'),
  ),
);

export const contents = /* @__PURE__ */ lazily(() =>
  s3ContentStore(clientWith(clientTimeouts), environment('contentBucket')),
);

export const workspaceObjects = /* @__PURE__ */ lazily(() =>
  s3WorkspaceObjects(clientWith(clientTimeouts), {
    files: environment('fileBucket'),
    content: environment('contentBucket'),
  }),
);

/** An index may have several megabytes, and agentctl may upload it over a slow connection. */
export const indexObjects = /* @__PURE__ */ lazily(() =>
  s3IndexObjects(
    new S3Client({ requestHandler: { ...clientTimeouts, requestTimeout: 60_000 } }),
    environment('contentBucket'),
  ),
);

let reader: AttachmentReader | undefined;

/**
 * An attempt to call the function that prepares files has more time than that function's timeout of 60 s.
 * @param leases only those of the first call are used
 */
export const attachments = (shares: Shares, leases: PreparationLeases | undefined): AttachmentReader => {
  reader ??= attachmentReader(
    { clock, files: files(), prepared: preparedAttachments(), shares, leases },
    new LambdaClient({ maxAttempts: 2, requestHandler: { ...clientTimeouts, requestTimeout: 70_000 } }),
    () => environment('prepareAttachmentFunction'),
  );
  return reader;
};
