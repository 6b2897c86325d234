import * as z from 'zod';
import { uuid } from '#contract/fields.ts';
import { uploadData } from '#contract/upload.ts';
import { defaults, type Route, writeDefaults } from './route.ts';

export const uploadFileRoute = {
  ...defaults,
  name: 'upload-file',
  method: 'POST',
  path: '/chats/upload-file',
  summary: 'Upload a file to attach it to messages',
  description:
    'If an upload fails, data describes the file: original_name, content_type, size, scope and error_msg. An unknown text is "", an unknown size is 0. If the extension, the type or the content is rejected, hint says what was found or what to send.',
  tag: 'Files',
  rateClass: 'uploads',
  body: z
    .object({
      file: z.unknown().meta({ override: { type: 'string', format: 'binary' } }),
      data: uploadData.optional(),
    })
    .meta({ id: 'UploadFileRequest' }),
  multipart: true,
  failures: ['unavailable'],
} as const satisfies Route;

export const deleteFileRoute = {
  ...writeDefaults,
  name: 'delete-file',
  method: 'DELETE',
  path: '/chats/files/{uuid}',
  summary: 'Delete an uploaded file that no message has',
  description:
    'An addition to the specification. A file that a message has is deleted with the last chat that has it. A request of a batch that names a deleted file fails.',
  tag: 'Files',
  parameters: z.object({ uuid }),
  failures: ['notFound'],
} as const satisfies Route;
