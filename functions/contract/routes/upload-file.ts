import * as z from 'zod';
import { limits } from '../limits.ts';
import { contentTypes, typeOfExtension } from '../upload.ts';
import { nothing, type Route } from './route.ts';

export const route = {
  name: 'upload-file',
  method: 'POST',
  path: '/chats/upload-file',
  summary: 'Upload a file, to attach it to messages',
  description:
    'Files of up to 50 MB at a base address with large uploads, else of about 4.5 MB, the limit of the platform. The data of a failed upload describes the file: original_name, content_type, size, scope and error_msg; "" and 0 are unknown.',
  rateClass: 'uploads',
  transfer: 'buffered',
  timeoutSeconds: 29,
  parameters: nothing,
  query: nothing,
  headers: nothing,
  body: z.object({
    file: z.unknown().meta({
      override: { type: 'string', format: 'binary' },
      description: `1 byte to 50 MB; ${Object.keys(typeOfExtension).join(', ')}; ${contentTypes.join(', ')}, text/*. The content must be what the type says.`,
    }),
    data: z
      .string()
      .optional()
      .meta({
        description: `A JSON object: {"scope": "persistent"} (the default) or {"scope": "ephemeral"}, which is gone after ${limits.ephemeralHours} hours.`,
      }),
  }),
  multipart: true,
  status: 200,
  failures: [],
} as const satisfies Route;
