import type { Permission } from '../iam/access-rules.ts';

/** As Koa has it: the path without its query, whose names are cased as they were sent. */
interface ObjectRequest {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, unknown>>;
}

const OF_OBJECTS: Readonly<Record<string, readonly [query: string | undefined, action: string][]>> = {
  GET: [
    ['tagging', 'GetObjectTagging'],
    ['acl', 'GetObjectAcl'],
    ['uploadId', 'ListMultipartUploadParts'],
    ['versionId', 'GetObjectVersion'],
    [undefined, 'GetObject'],
  ],
  HEAD: [
    ['versionId', 'GetObjectVersion'],
    [undefined, 'GetObject'],
  ],
  PUT: [
    ['tagging', 'PutObjectTagging'],
    ['acl', 'PutObjectAcl'],
    [undefined, 'PutObject'],
  ],
  // Begins or completes an upload in parts.
  POST: [
    ['uploads', 'PutObject'],
    ['uploadId', 'PutObject'],
  ],
  DELETE: [
    ['tagging', 'DeleteObjectTagging'],
    ['uploadId', 'AbortMultipartUpload'],
    ['versionId', 'DeleteObjectVersion'],
    [undefined, 'DeleteObject'],
  ],
};

const OF_BUCKETS: typeof OF_OBJECTS = {
  GET: [
    ['uploads', 'ListBucketMultipartUploads'],
    ['location', 'GetBucketLocation'],
    ['versions', 'ListBucketVersions'],
    ['list-type', 'ListBucket'],
    ['prefix', 'ListBucket'],
    [undefined, 'ListBucket'],
  ],
  HEAD: [[undefined, 'ListBucket']],
  PUT: [[undefined, 'CreateBucket']],
  DELETE: [[undefined, 'DeleteBucket']],
};

/** What IAM checks of a call to S3; undefined for one that nothing is known of. */
export function neededPermissions({ method, path, query, headers }: ObjectRequest): Permission[] | undefined {
  // A browser asks before it has anything to sign with.
  if (method === 'OPTIONS') return [];
  const [, bucket = '', ...rest] = decodeURIComponent(path).split('/');
  const key = rest.join('/');
  if (bucket === '') return [{ action: 's3:ListAllMyBuckets', resource: '*' }];
  const arn = `arn:aws:s3:::${bucket}`;
  const lines = (key === '' ? OF_BUCKETS : OF_OBJECTS)[method];
  const action = lines?.find(([name]) => name === undefined || name in query)?.[1];
  if (action === undefined) return undefined;
  const prefix = query.prefix === undefined ? undefined : { 's3:prefix': String(query.prefix) };
  const needed: Permission = {
    action: `s3:${action}`,
    resource: key === '' ? arn : `${arn}/${key}`,
    ...(prefix && { context: prefix }),
  };
  const source = headers['x-amz-copy-source'];
  const sourceName = source === undefined ? undefined : decodeURIComponent(String(source)).replace(/^\//, '');
  return [
    needed,
    ...(action === 'PutObject' && headers['x-amz-tagging'] !== undefined
      ? [{ action: 's3:PutObjectTagging', resource: needed.resource }]
      : []),
    ...(sourceName === undefined
      ? []
      : [{ action: 's3:GetObject', resource: `arn:aws:s3:::${sourceName.split('?')[0]}` }]),
  ];
}
