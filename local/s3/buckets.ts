import path from 'node:path';
import { Worker } from 'node:worker_threads';
import type { PermissionUse } from '../iam/access-rules.ts';
import { registerKey } from '../kms/keys.ts';
import type { ResourceKind } from '../template/resource-kind.ts';
import type { TemplateResource } from '../template/template-resource.ts';
import { claimPort, releasePort } from '../wire/listen-on-loopback.ts';

export type MessageFromBuckets =
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'use'; readonly use: PermissionUse }
  | { readonly kind: 'denied'; readonly message: string };

interface BucketProperties {
  readonly BucketEncryption?: {
    readonly ServerSideEncryptionConfiguration?: readonly {
      readonly ServerSideEncryptionByDefault?: { readonly KMSMasterKeyID?: string };
    }[];
  };
}

export const buckets: ResourceKind = {
  types: ['AWS::S3::Bucket'],

  async open(resources, context) {
    const nameOf = (resource: TemplateResource) => context.nameOf(resource, 'BucketName').toLowerCase();
    const worker = new Worker(new URL('./serve-buckets.ts', import.meta.url), {
      name: 's3',
      execArgv: [],
      workerData: { directory: path.join(context.options.dataDir, 's3'), buckets: resources.map(nameOf) },
    });
    const listening = Promise.withResolvers<number>();
    worker.once('error', listening.reject);
    worker.on('message', (message: MessageFromBuckets) => {
      if (message.kind === 'listening') listening.resolve(message.port);
      else if (message.kind === 'use') context.access.notes.onUse(message.use);
      else context.access.notes.onDenied(message.message);
    });
    const port = await listening.promise;
    claimPort(port);
    // With an IP address as the endpoint, SDK clients address buckets by path.
    const endpoint = `http://127.0.0.1:${port}`;
    context.endpoints.s3 = endpoint;

    return {
      ref: nameOf,
      attribute: (resource, name) => (name === 'Arn' ? `arn:aws:s3:::${nameOf(resource)}` : undefined),
      environmentFor: () => ({
        AWS_ENDPOINT_URL_S3: endpoint,
        // s3rver cannot read a streamed upload with checksums.
        AWS_REQUEST_CHECKSUM_CALCULATION: 'WHEN_REQUIRED',
        AWS_RESPONSE_CHECKSUM_VALIDATION: 'WHEN_REQUIRED',
      }),
      async start() {
        for (const resource of resources) {
          const { BucketEncryption } = context.read<BucketProperties>(resource);
          const [rule] = BucketEncryption?.ServerSideEncryptionConfiguration ?? [];
          const { KMSMasterKeyID } = rule?.ServerSideEncryptionByDefault ?? {};
          registerKey(context, `arn:aws:s3:::${nameOf(resource)}`, KMSMasterKeyID);
        }
      },
      complete: () => worker.postMessage(context.access.rules),
      async close() {
        await worker.terminate();
        releasePort(port);
      },
    };
  },
};
