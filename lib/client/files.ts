import { ChatBatchError, NotFoundError } from './errors.ts';
import type { DeletedFile, UploadData, UploadedFile } from './schema.ts';
import { type ApiPromise, apiPromise, type RequestOptions, type Transport } from './transport.ts';

export interface UploadParams extends UploadData {
  /** The file name, with its extension. Required unless the file is a `File`. */
  name?: string;
  /**
   * The content type. By default that of the extension; a `File` or `Blob` keeps its own type if the extension is
   * unknown, or if both types are text.
   */
  type?: string;
}

export const contentTypes: Readonly<Record<string, string>> = {
  pdf: 'application/pdf',
  txt: 'text/plain',
  md: 'text/markdown',
  csv: 'text/csv',
  html: 'text/html',
  doc: 'application/msword',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  pptx: 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  png: 'image/png',
  gif: 'image/gif',
  webp: 'image/webp',
};

/**
 * `ownType` is not enough: a system may give a file none, or that of the program that opens it, such as
 * `application/vnd.ms-excel` for .csv.
 */
function typeOf(name: string, ownType: string): string {
  const known = contentTypes[name.slice(name.lastIndexOf('.') + 1).toLowerCase()];
  if (known === undefined) return ownType || 'application/octet-stream';
  return known.startsWith('text/') && ownType.startsWith('text/') ? ownType : known;
}

export class Files {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Uploads a file. Messages attach it by the returned `uuid`, in `attached_file_uuids`.
   * @param file a `File` or `Blob`, or bytes such as a `Buffer`; not a stream
   */
  upload(
    file: Blob | Uint8Array | ArrayBuffer,
    { name = (file as Partial<File>).name, type, scope }: UploadParams = {},
    options?: RequestOptions,
  ): ApiPromise<UploadedFile> {
    if (name === undefined || name === '')
      return apiPromise(Promise.reject(new ChatBatchError('The file has no name: give one')));
    if (!(file instanceof Blob || file instanceof Uint8Array || file instanceof ArrayBuffer))
      return apiPromise(Promise.reject(new ChatBatchError('The file must be a File, a Blob or bytes')));
    const contentType = type ?? typeOf(name, file instanceof Blob ? file.type : '');
    const content =
      file instanceof Blob
        ? file.slice(0, file.size, contentType)
        : new Blob([file as Uint8Array<ArrayBuffer> | ArrayBuffer], { type: contentType });
    const form = new FormData();
    // The scope comes before the file, so that a server that reads the form as a stream knows the scope first.
    if (scope !== undefined) form.append('data', JSON.stringify({ scope }));
    form.append('file', content, name);
    return this.#transport.request(
      { method: 'POST', path: '/chats/upload-file', body: form, isRepeatable: false },
      options,
    );
  }

  /**
   * Deletes a file.
   * @throws BadRequestError if a chat has attached the file
   */
  delete(uuid: string, options?: RequestOptions): ApiPromise<DeletedFile> {
    return this.#transport.request<DeletedFile>(
      {
        method: 'DELETE',
        path: `/chats/files/${encodeURIComponent(uuid)}`,
        recover: (error) => (error instanceof NotFoundError ? { uuid, deleted: true } : undefined),
      },
      options,
    );
  }
}
