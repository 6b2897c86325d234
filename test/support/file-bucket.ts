import {
  GetObjectTaggingCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  S3Client,
} from '@aws-sdk/client-s3';
import { operatorCredentials } from '#local/iam/operator-credentials.ts';
import type { Service } from './service.ts';

/** The bucket of uploaded files of a running service, reached past the service itself. */
export function fileBucketOf({ run }: Pick<Service, 'run'>) {
  const Bucket = run.outputs.FileBucketName ?? '';
  const client = new S3Client({
    endpoint: run.endpoints.s3,
    region: 'us-east-1',
    credentials: operatorCredentials,
    forcePathStyle: true,
  });
  return {
    /** Keys of a workspace's objects, and of its uploads that nobody has ended. */
    async holds(workspaceId: string): Promise<{ objects: string[]; uploads: string[] }> {
      const Prefix = `files/${workspaceId}/`;
      const [objects, uploads] = await Promise.all([
        client.send(new ListObjectsV2Command({ Bucket, Prefix })),
        client.send(new ListMultipartUploadsCommand({ Bucket, Prefix })),
      ]);
      const own = (keys: ({ Key?: string | undefined } | undefined)[] = []): string[] =>
        keys.flatMap((entry) => (entry?.Key?.startsWith(Prefix) ? [entry.Key] : []));
      return { objects: own(objects.Contents), uploads: own(uploads.Uploads) };
    },
    async tagsOf(workspaceId: string, uuid: string) {
      const Key = `files/${workspaceId}/${uuid}`;
      return (await client.send(new GetObjectTaggingCommand({ Bucket, Key }))).TagSet;
    },
  };
}
