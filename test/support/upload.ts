import type { UploadedFile } from '#contract/message.ts';
import { checkResponse } from './check-response.ts';
import type { ApiResponse } from './client.ts';
import type { Service, Tenant } from './service.ts';

export type RejectedFile = Omit<UploadedFile, 'uuid' | 'file_url'> & { error_msg: string; hint?: string };

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
    send,
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
    /** Streams a file of this many bytes, then `data`. The body is never in memory as a whole. */
    large(bytes: number, { data }: { data?: string } = {}) {
      return this.raw(streamedForm(bytes, data));
    },
  };
}

/** A form with a file of this many bytes, then `data`. */
function streamedForm(bytes: number, data: string | undefined): ReadableStream<Uint8Array> {
  const head = [
    `Content-Disposition: form-data; name="file"; filename="large.txt"`,
    'Content-Type: text/plain',
  ];
  const [before, after] = [part(head, '').subarray(0, -2), data === undefined ? '' : dataPart(data)];
  const chunk = Buffer.alloc(64 * 1024, 'x');
  let left = bytes;
  const segments = [
    before,
    ...Array.from({ length: Math.ceil(bytes / chunk.length) }, () => undefined),
    Buffer.concat([Buffer.from('\r\n'), Buffer.from(after), Buffer.from(`--${boundary}--\r\n`)]),
  ].values();
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      const { done, value } = segments.next();
      if (done === true) return controller.close();
      if (value !== undefined) return controller.enqueue(value);
      const size = Math.min(left, chunk.length);
      left -= size;
      controller.enqueue(chunk.subarray(0, size));
    },
  });
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
