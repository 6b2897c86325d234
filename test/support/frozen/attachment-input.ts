import { S3Client } from '@aws-sdk/client-s3';
import { s3PreparedAttachments } from '#adapters/prepared-attachments.ts';
import { s3FileStore } from '#adapters/s3-objects.ts';
import type { RunningTemplate } from '#local/run-template.ts';
import { fileIndex } from '#runtime/composition/services.ts';
import { operatorAt } from '../data-table.ts';

/** The input of the function that prepares a file, with signed addresses, as a reply makes it. */
export async function attachmentInput(
  { endpoints, outputs }: Pick<RunningTemplate, 'endpoints' | 'outputs'>,
  workspaceId: string,
  uuid: string,
): Promise<Record<string, unknown>> {
  const { FileBucketName = '', ContentBucketName = '' } = outputs;
  const s3 = new S3Client({ ...operatorAt(endpoints.s3), forcePathStyle: true });
  const stored = await fileIndex().get(workspaceId, uuid);
  if (stored === undefined) throw new Error(`There is no file ${uuid}`);
  const addresses = {
    file: await s3FileStore(s3, FileBucketName).readAddress(stored),
    ...(await s3PreparedAttachments(s3, ContentBucketName).writeAddresses(stored)),
  };
  return { uuid, workspaceId, name: stored.name, contentType: stored.contentType, addresses };
}
