import path from 'node:path';
import { Worker } from 'node:worker_threads';
import type { ResourceKind, TemplateResource } from '../template/resource-kind.ts';

/** S3 buckets, on disk. */
export const buckets: ResourceKind = {
  types: ['AWS::S3::Bucket'],

  async open(resources, context) {
    const nameOf = ({ logicalId, properties }: TemplateResource): string => {
      const given = context.resolve(properties.BucketName, logicalId);
      return given === undefined ? context.nameOf(logicalId).toLowerCase() : String(given);
    };
    const worker = new Worker(new URL('./serve-buckets.ts', import.meta.url), {
      name: 's3',
      execArgv: [],
      workerData: { directory: path.join(context.options.dataDir, 's3'), buckets: resources.map(nameOf) },
    });
    const port = await new Promise<number>((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
    });
    // An IP address as the endpoint makes every SDK client address buckets by path.
    const endpoint = `http://127.0.0.1:${port}`;
    context.endpoints.s3 = endpoint;

    return {
      ref: nameOf,
      attribute(resource, name) {
        const bucket = nameOf(resource);
        return {
          Arn: `arn:aws:s3:::${bucket}`,
          DomainName: `${bucket}.s3.amazonaws.com`,
          RegionalDomainName: `${bucket}.s3.${context.region}.amazonaws.com`,
        }[name];
      },
      environmentFor: () => ({
        AWS_ENDPOINT_URL_S3: endpoint,
        // s3rver stores the framing of a checksummed upload as part of the object.
        AWS_REQUEST_CHECKSUM_CALCULATION: 'WHEN_REQUIRED',
        AWS_RESPONSE_CHECKSUM_VALIDATION: 'WHEN_REQUIRED',
      }),
      async close() {
        await worker.terminate();
      },
    };
  },
};
