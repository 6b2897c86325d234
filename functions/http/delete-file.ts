import { deleteFileRoute } from '#contract/routes/files.ts';
import type { DeletedFileResource } from '#contract/upload.ts';
import { deleteFile } from '#domain/files/attachments.ts';
import { files, preparedAttachments } from '#runtime/composition/object-stores.ts';
import { clock, fileIndex } from '#runtime/composition/services.ts';
import { lambdaRoute } from '#runtime/http/lambda-route.ts';

const services = {
  clock,
  fileIndex: fileIndex(),
  files: files(),
  preparedAttachments: preparedAttachments(),
};

export const handler = lambdaRoute(deleteFileRoute, async ({ workspaceId, parameters: { uuid } }) => {
  await deleteFile(services, workspaceId, uuid);
  return { data: { uuid, deleted: true } satisfies DeletedFileResource };
});
