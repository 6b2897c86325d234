import type { IncomingHttpHeaders } from 'node:http';

export function accessKeyOf(headers: IncomingHttpHeaders, url = ''): string | undefined {
  const header = /Credential=([^/,\s]+)\//.exec(headers.authorization ?? '')?.[1];
  if (header !== undefined) return header;
  const credential = /[?&]X-Amz-Credential=([^&]+)/.exec(url)?.[1];
  return credential === undefined ? undefined : decodeURIComponent(credential).split('/')[0];
}
