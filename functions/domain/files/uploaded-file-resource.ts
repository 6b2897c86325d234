import type { UploadedFile } from '#contract/message.ts';
import type { FileServices, Services } from './services.ts';
import type { StoredFile } from './stored-file.ts';

/** What clients see of a file (specification, section 2.7), with a short-lived URL made for this response. */
export const uploadedFileResource = async (
  services: Services<'clock'> & { files: Pick<FileServices['files'], 'address'> },
  file: StoredFile,
): Promise<UploadedFile> => ({
  uuid: file.uuid,
  original_name: file.name,
  content_type: file.contentType,
  size: file.size,
  file_url: await services.files.address(file, services.clock.now()),
  scope: file.scope,
});
