import { route } from '#contract/routes/delete-file.ts';
import type { DeletedFileResource } from '#contract/upload.ts';
import { deleteFile } from '#domain/files/delete-file.ts';
import { files, preparedAttachments } from '#runtime/composition/object-stores.ts';
import { fileErasures, fileIndex } from '#runtime/composition/services.ts';
import { identifiers } from '#runtime/environment/identifiers.ts';
import { bufferedRoute } from '#runtime/http/buffered-route.ts';

const deleteOne = deleteFile({
  fileErasures: fileErasures(),
  fileIndex: fileIndex(),
  files: files(),
  identifiers,
  preparedAttachments: preparedAttachments(),
});

export const handler = bufferedRoute(route, async ({ workspaceId, parameters: { uuid } }) => {
  await deleteOne(workspaceId, uuid);
  const data: DeletedFileResource = { uuid, deleted: true };
  return { data };
});
