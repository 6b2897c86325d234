import type { Readable } from 'node:stream';
import type { UploadedFile } from '#contract/message.ts';
import type { FileServices } from '#domain/files/services.ts';
import { storeUpload } from '#domain/files/store-upload.ts';
import { uploadedFileResource } from '#domain/files/uploaded-file-resource.ts';
import type { PlatformServices } from '#domain/platform/services.ts';
import type { KeyOwner } from '#domain/workspaces/usage.ts';
import { readForm } from './read-form.ts';

type UploadServices = Parameters<typeof storeUpload>[0] &
  Pick<FileServices, 'files'> &
  Pick<PlatformServices, 'clock'>;

/**
 * Stores an upload. Both the API Gateway route and the web function use it after they have authenticated the caller.
 */
export const receiveUpload = (services: UploadServices) => {
  const store = storeUpload(services);
  const resource = uploadedFileResource(services);
  return async (upload: {
    caller: KeyOwner;
    contentType: string | undefined;
    body: Readable;
  }): Promise<UploadedFile> =>
    resource(await store(upload.caller, readForm(upload.contentType, upload.body)));
};
