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

/** The least that S3 takes as a part: one of them is all that an upload holds in memory. */
const partBytes = 5 * 1024 * 1024;

/** The bucket's lifecycle rule removes what has this tag after a day. A file that stays loses it last. */
const temporary = 'kept=no';

/** Writes an object in parts, through one buffer. A file of less than a part is one plain object. */
export function s3FileWriter(
  client: S3Client,
  address: { Bucket: string; Key: string },
  ContentType: string,
): FileWriter {
  const attributes = { ...address, ContentType, Tagging: temporary };
  // Not of the shared pool, and not zeroed: pages that a small file never reaches are never touched.
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
        // Whether it was stored is unknown when this fails.
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
