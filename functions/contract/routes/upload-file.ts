import * as z from 'zod';
import { limits, platformLimits } from '../limits.ts';
import { contentTypes, typeOfExtension } from '../upload.ts';
import { nothing, type Route } from './route.ts';

const megabyte = 1024 * 1024;

export const route = {
  name: 'upload-file',
  method: 'POST',
  path: '/chats/upload-file',
  summary: 'Upload a file to attach it to messages',
  description:
    'If an upload fails, data describes the file: original_name, content_type, size, scope and error_msg. An unknown text is "", an unknown size is 0.',
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
        `1 byte to ${limits.fileBytes / megabyte} MB, about ${platformLimits.gatewayUpload} at a base address without large uploads; the whole form has at most ${limits.uploadBytes / megabyte} MB.`,
        `The file name has at most ${limits.fileNameCharacters} characters.`,
        `Extensions: ${Object.keys(typeOfExtension).join(', ')}. Types: ${contentTypes.join(', ')}, text/*. The content must match the type.`,
      ].join(' '),
    }),
    data: z
      .string()
      .optional()
      .meta({
        description: `A JSON object of at most ${limits.uploadDataBytes.toLocaleString('en')} bytes: {"scope": "persistent"} (the default) or {"scope": "ephemeral"}, which expires after ${limits.ephemeralHours} hours.`,
      }),
  }),
  multipart: true,
  status: 200,
  failures: ['unavailable'],
} as const satisfies Route;
