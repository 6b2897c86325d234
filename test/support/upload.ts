import { type ClientRequest, type OutgoingHttpHeaders, request } from 'node:http';
import type { UploadedFile } from '#contract/message.ts';
import { checkResponse } from './check-response.ts';
import type { ApiResponse, Client } from './client.ts';
import type { Service, Tenant } from './service.ts';

export type RejectedFile = Omit<UploadedFile, 'uuid' | 'file_url'> & { error_msg: string; hint?: string };

type Uploader = (init: RequestInit) => Promise<ApiResponse<UploadedFile | RejectedFile | null>>;

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
  const openUpload = (headers: OutgoingHttpHeaders) =>
    request(service.baseUrl + path, {
      method: 'POST',
      headers: {
        'x-api-key': apiKey,
        'Content-Type': `multipart/form-data; boundary=${boundary}`,
        ...headers,
      },
    });
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
      contentType = `multipart/form-data; boundary=${boundary}`,
    ) =>
      send({
        body: body as NonNullable<RequestInit['body']>,
        headers: { 'Content-Type': contentType },
        ...(body instanceof ReadableStream && { duplex: 'half' }),
      }),
    /** Streams a file of this many bytes, then `data`. The body is never in memory as a whole. */
    large(bytes: number, { data }: { data?: string } = {}) {
      return this.raw(streamedForm(bytes, data));
    },
    /** Sends the body only after the service has responded with 100 Continue. */
    expecting: (body: Uint8Array) =>
      sendAfterContinue(openUpload({ 'Content-Length': body.length, Expect: '100-continue' }), body),
    /** Sends `bytes` and closes the connection when `ready` resolves, before the body is complete. */
    leaveWhen: (
      ready: () => Promise<unknown>,
      { bytes, contentLength }: { bytes: Uint8Array; contentLength: number },
    ) => sendUntil(ready, openUpload({ 'Content-Length': contentLength }), bytes),
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

function sendAfterContinue(
  sending: ClientRequest,
  body: Uint8Array,
): Promise<{ continued: boolean; status: number | undefined }> {
  return new Promise((resolve, reject) => {
    let continued = false;
    sending.on('continue', () => {
      continued = true;
      sending.end(body);
    });
    sending.on('response', (response) => {
      response.resume();
      resolve({ continued, status: response.statusCode });
    });
    sending.on('error', reject);
    sending.flushHeaders();
  });
}

function sendUntil(ready: () => Promise<unknown>, sending: ClientRequest, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    sending.on('error', () => {});
    sending.on('close', () => resolve());
    sending.write(bytes);
    ready().then(() => sending.destroy(), reject);
  });
}

/** Uploads a text of this name, as its plain response. */
export const uploadText = (client: Pick<Client, 'request'>, name: string): Promise<Response> =>
  client.request('POST', path, {
    body: form(filePart(name, 'Text')),
    headers: { 'Content-Type': `multipart/form-data; boundary=${boundary}` },
  });

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
