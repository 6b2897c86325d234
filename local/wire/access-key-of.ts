import type { IncomingHttpHeaders } from 'node:http';

/** The access key of a request's signature, from its Authorization header or its presigned URL. */
export function accessKeyOf(headers: IncomingHttpHeaders, url = ''): string | undefined {
  const header = /Credential=([^/,\s]+)\//.exec(headers.authorization ?? '')?.[1];
  if (header !== undefined) return header;
  const credential = /[?&]X-Amz-Credential=([^&]+)/.exec(url)?.[1];
  return credential === undefined ? undefined : decodeURIComponent(credential).split('/')[0];
}
