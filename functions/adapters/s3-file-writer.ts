import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  PutObjectCommand,
  PutObjectTaggingCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import type { FileWriter } from '#domain/files/file-store.ts';

/** The minimum size of a part in S3. An upload buffers one part in memory. */
const partBytes = 5 * 1024 * 1024;

/** The bucket's lifecycle rule removes objects with this tag after a day. `complete` removes the tag. */
const temporary = 'kept=no';

/** Writes an object as a multipart upload, through one buffer. A file smaller than a part is a single put. */
export function s3FileWriter(
  client: S3Client,
  address: { Bucket: string; Key: string },
  ContentType: string,
): FileWriter {
  const attributes = { ...address, ContentType, Tagging: temporary };
  // Not zeroed, and not from Node's shared pool: memory pages that a small file does not fill are never allocated.
  const buffer = Buffer.allocUnsafeSlow(partBytes);
  let filled = 0;
  let uploadId: string | undefined;
  let isObject = false;
  const etags: string[] = [];

  async function sendPart(): Promise<void> {
    uploadId ??= (await client.send(new CreateMultipartUploadCommand(attributes))).UploadId;
    const { ETag = '' } = await client.send(
      new UploadPartCommand({
        ...address,
        UploadId: uploadId,
        PartNumber: etags.length + 1,
        Body: buffer.subarray(0, filled),
      }),
    );
    etags.push(ETag);
    filled = 0;
  }

  return {
    async write(bytes) {
      for (let offset = 0; offset < bytes.length; ) {
        if (filled === partBytes) await sendPart();
        const chunk = bytes.subarray(offset, offset + partBytes - filled);
        buffer.set(chunk, filled);
        filled += chunk.length;
        offset += chunk.length;
      }
    },

    async end() {
      if (uploadId === undefined) {
        // Set before the call, because a failed call may have created the object all the same.
        isObject = true;
        await client.send(new PutObjectCommand({ ...attributes, Body: buffer.subarray(0, filled) }));
        return;
      }
      await sendPart();
      const Parts = etags.map((ETag, index) => ({ ETag, PartNumber: index + 1 }));
      isObject = true;
      await client.send(
        new CompleteMultipartUploadCommand({ ...address, UploadId: uploadId, MultipartUpload: { Parts } }),
      );
      uploadId = undefined;
    },

    async complete() {
      await client.send(new PutObjectTaggingCommand({ ...address, Tagging: { TagSet: [] } }));
    },

    async abort() {
      if (uploadId !== undefined)
        await client.send(new AbortMultipartUploadCommand({ ...address, UploadId: uploadId }));
      if (isObject) await client.send(new DeleteObjectCommand(address));
    },
  };
}
