import {
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectTaggingCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  S3Client,
} from '@aws-sdk/client-s3';
import { operatorAt } from './data-table.ts';
import type { Service } from './service.ts';

const clientOf = ({ run }: Pick<Service, 'run'>): S3Client =>
  new S3Client({ ...operatorAt(run.endpoints.s3), forcePathStyle: true });

/** The rests of the keys in the content bucket that begin with a prefix. */
async function contentKeys(service: Pick<Service, 'run'>, Prefix: string): Promise<string[]> {
  const Bucket = service.run.outputs.ContentBucketName;
  const { Contents = [] } = await clientOf(service).send(new ListObjectsV2Command({ Bucket, Prefix }));
  return Contents.map(({ Key = '' }) => Key.slice(Prefix.length));
}

/** How many texts of a workspace are in S3 because they were too large for the table. */
export const countLargeTexts = async (service: Pick<Service, 'run'>, workspaceId: string): Promise<number> =>
  (await contentKeys(service, `contents/${workspaceId}/`)).length;

/** Keys of the content that was prepared from a workspace's files. */
export const preparedKeysOf = (service: Pick<Service, 'run'>, workspaceId: string): Promise<string[]> =>
  contentKeys(service, `attachments/persistent/${workspaceId}/`);

/** Direct access to a running service's bucket of uploaded files. */
export function fileBucketOf(service: Pick<Service, 'run'>) {
  const Bucket = service.run.outputs.FileBucketName ?? '';
  const client = clientOf(service);
  return {
    /** Keys of a workspace's objects and of its unfinished multipart uploads. */
    async keysOf(workspaceId: string): Promise<{ objects: string[]; uploads: string[] }> {
      const Prefix = `files/${workspaceId}/`;
      const [objects, uploads] = await Promise.all([
        client.send(new ListObjectsV2Command({ Bucket, Prefix })),
        client.send(new ListMultipartUploadsCommand({ Bucket, Prefix })),
      ]);
      const own = (keys: ({ Key?: string | undefined } | undefined)[] = []): string[] =>
        keys.flatMap((entry) => (entry?.Key?.startsWith(Prefix) ? [entry.Key] : []));
      return { objects: own(objects.Contents), uploads: own(uploads.Uploads) };
    },
    async remove(workspaceId: string, uuid: string): Promise<void> {
      await client.send(new DeleteObjectCommand({ Bucket, Key: `files/${workspaceId}/${uuid}` }));
    },
    async tagsOf(workspaceId: string, uuid: string) {
      const Key = `files/${workspaceId}/${uuid}`;
      return (await client.send(new GetObjectTaggingCommand({ Bucket, Key }))).TagSet;
    },
  };
}

/** The name and ETag of every object of both buckets, and the names of unfinished uploads, sorted. */
export async function allObjects(service: Pick<Service, 'run'>): Promise<string[]> {
  const client = clientOf(service);
  const { FileBucketName, ContentBucketName } = service.run.outputs;
  const found = [FileBucketName, ContentBucketName].map(async (Bucket) => {
    const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket }));
    const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket }));
    return [...Contents.map(({ Key, ETag }) => `${Key} ${ETag}`), ...Uploads.map(({ Key }) => `${Key}`)];
  });
  return (await Promise.all(found)).flat().sort();
}

/** Starts a multipart upload of a workspace's file, as a function that died later has left it. */
export async function startUpload(service: Pick<Service, 'run'>, workspaceId: string): Promise<void> {
  const Bucket = service.run.outputs.FileBucketName;
  await clientOf(service).send(
    new CreateMultipartUploadCommand({ Bucket, Key: `files/${workspaceId}/unfinished` }),
  );
}
