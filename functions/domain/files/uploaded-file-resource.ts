import type { UploadedFile } from '#contract/message.ts';
import type { Services } from '#domain/services.ts';
import type { StoredFile } from './stored-file.ts';

/** What clients see of a file (specification, section 2.7), with an address made for this answer. */
export const uploadedFileResource =
  (services: Pick<Services, 'clock'> & { files: Pick<Services['files'], 'address'> }) =>
  async (file: StoredFile): Promise<UploadedFile> => ({
    uuid: file.uuid,
    original_name: file.name,
    content_type: file.contentType,
    size: file.size,
    file_url: await services.files.address(file, services.clock.now()),
    scope: file.scope,
  });
