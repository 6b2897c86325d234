import type { UploadedFile } from '#contract/message.ts';
import { checkResponse } from './check-response.ts';
import type { ApiResponse } from './client.ts';
import type { Service, Tenant } from './service.ts';

type RejectedFile = Omit<UploadedFile, 'uuid' | 'file_url'> & { error_msg: string; hint?: string };

type Uploader = (init: RequestInit) => Promise<ApiResponse<UploadedFile | RejectedFile | null>>;

interface RawOptions {
  contentType?: string;
  signal?: AbortSignal;
}

const path = '/chats/upload-file';

/** Uploads over HTTP; every response is checked against the contract. */
export function uploaderOf(service: Pick<Service, 'baseUrl'>, { apiKey }: Pick<Tenant, 'apiKey'>) {
  const send: Uploader = async (init) => {
    const response = await fetch(service.baseUrl + path, {
      method: 'POST',
      ...init,
      headers: { 'x-api-key': apiKey, ...(init.headers as Record<string, string> | undefined) },
    });
    const result = {
      status: response.status,
      headers: response.headers,
      body: (await response.json()) as ApiResponse<UploadedFile | RejectedFile | null>['body'],
    };
    checkResponse({ method: 'POST', path, ...result });
    return result;
  };
  return {
    /** Uploads a form, as a browser does. */
    file(
      name: string,
      content: string | Uint8Array | Blob,
      { type = 'text/plain', data }: { type?: string; data?: unknown } = {},
    ) {
      const form = new FormData();
      form.append('file', new Blob([content as string], { type }), name);
      if (data !== undefined) form.append('data', typeof data === 'string' ? data : JSON.stringify(data));
      return send({ body: form });
    },
    /** Uploads the given body. */
    raw: (
      body: string | Uint8Array | ReadableStream,
      { contentType = `multipart/form-data; boundary=${boundary}`, signal }: RawOptions = {},
    ) =>
      send({
        body: body as NonNullable<RequestInit['body']>,
        headers: { 'Content-Type': contentType },
        ...(body instanceof ReadableStream && { duplex: 'half' }),
        ...(signal !== undefined && { signal }),
      }),
    /** Uploads a file of this many bytes, then `data`. */
    large(bytes: number, { data }: { data?: string } = {}) {
      const file = filePart('large.txt', Buffer.alloc(bytes, 'x'));
      return this.raw(form(file, ...(data === undefined ? [] : [dataPart(data)])));
    },
  };
}

export const boundary = 'the-boundary';

/** A part with these headers, unchanged. */
export const part = (headers: string[], content: string | Uint8Array): Buffer =>
  Buffer.concat([
    Buffer.from(`--${boundary}\r\n${headers.map((header) => `${header}\r\n`).join('')}\r\n`),
    Buffer.from(content as Uint8Array),
    Buffer.from('\r\n'),
  ]);

export const filePart = (name: string, content: string | Uint8Array, type = 'text/plain'): Buffer =>
  part([`Content-Disposition: form-data; name="file"; filename="${name}"`, `Content-Type: ${type}`], content);

export const dataPart = (data: string): Buffer => part(['Content-Disposition: form-data; name="data"'], data);

export const form = (...parts: Uint8Array[]): Buffer =>
  Buffer.concat([...parts, Buffer.from(`--${boundary}--\r\n`)]);
