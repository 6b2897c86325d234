import * as z from 'zod';
import { limits, platformLimits } from '../limits.ts';
import { contentTypes, typeOfExtension } from '../upload.ts';
import { nothing, type Route } from './route.ts';

const megabyte = 1024 * 1024;

export const route = {
  name: 'upload-file',
  method: 'POST',
  path: '/chats/upload-file',
  summary: 'Upload a file, to attach it to messages',
  description:
    'The data of a failed upload describes the file: original_name, content_type, size, scope and error_msg; "" and 0 are unknown.',
  rateClass: 'uploads',
  transfer: 'buffered',
  timeoutSeconds: 29,
  parameters: nothing,
  query: nothing,
  headers: nothing,
  body: z.object({
    file: z.unknown().meta({
      override: { type: 'string', format: 'binary' },
      description: [
        `1 byte to ${limits.fileBytes / megabyte} MB, about ${platformLimits.gatewayUpload} at a base address without large uploads; the whole form at most ${limits.uploadBytes / megabyte} MB.`,
        `A name of at most ${limits.fileNameCharacters} characters.`,
        `${Object.keys(typeOfExtension).join(', ')}; ${contentTypes.join(', ')}, text/*. The content must be what the type says.`,
      ].join(' '),
    }),
    data: z
      .string()
      .optional()
      .meta({
        description: `A JSON object of at most ${limits.uploadDataBytes.toLocaleString('en')} bytes: {"scope": "persistent"} (the default) or {"scope": "ephemeral"}, which is gone after ${limits.ephemeralHours} hours.`,
      }),
  }),
  multipart: true,
  status: 200,
  failures: [],
} as const satisfies Route;
