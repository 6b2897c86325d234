import type { Permission } from '../iam/access-rules.ts';
import type { Context } from './complete-emulator.ts';

const OBJECT_ACTIONS: Readonly<Record<string, readonly [query: string | undefined, action: string][]>> = {
  GET: [
    ['tagging', 'GetObjectTagging'],
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
    [undefined, 'PutObject'],
  ],
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

const BUCKET_ACTIONS: typeof OBJECT_ACTIONS = {
  GET: [
    ['uploads', 'ListBucketMultipartUploads'],
    ['location', 'GetBucketLocation'],
    ['versions', 'ListBucketVersions'],
    [undefined, 'ListBucket'],
  ],
  HEAD: [[undefined, 'ListBucket']],
};

/** Undefined if it is not known what the operation needs. */
export function neededPermissions({ method, path, query, headers }: Context): Permission[] | undefined {
  const [, bucket = '', ...rest] = decodeURIComponent(path).split('/');
  const key = rest.join('/');
  if (bucket === '') return [{ action: 's3:ListAllMyBuckets', resource: '*' }];
  const arn = `arn:aws:s3:::${bucket}`;
  const actions = (key === '' ? BUCKET_ACTIONS : OBJECT_ACTIONS)[method];
  const action = actions?.find(([name]) => name === undefined || name in query)?.[1];
  if (action === undefined || 'acl' in query) return undefined;
  const prefix = query.prefix === undefined ? undefined : { 's3:prefix': String(query.prefix) };
  const needed: Permission = {
    action: `s3:${action}`,
    resource: key === '' ? arn : `${arn}/${key}`,
    ...(prefix && { context: prefix }),
  };
  const all = [needed];
  if (action === 'PutObject' && headers['x-amz-tagging'] !== undefined)
    all.push({ action: 's3:PutObjectTagging', resource: needed.resource });
  const source = headers['x-amz-copy-source'];
  if (source !== undefined) {
    const [name] = decodeURIComponent(String(source)).replace(/^\//, '').split('?');
    all.push({ action: 's3:GetObject', resource: `arn:aws:s3:::${name}` });
  }
  return all;
}
