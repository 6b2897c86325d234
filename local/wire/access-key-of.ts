import type { IncomingHttpHeaders } from 'node:http';

/** The access key that a request is signed with, in its Authorization header or in its address. */
export function accessKeyOf(headers: IncomingHttpHeaders, url = ''): string | undefined {
  const header = /Credential=([^/,\s]+)\//.exec(headers.authorization ?? '')?.[1];
  if (header !== undefined) return header;
  const credential = /[?&]X-Amz-Credential=([^&]+)/.exec(url)?.[1];
  return credential === undefined ? undefined : decodeURIComponent(credential).split('/')[0];
}
