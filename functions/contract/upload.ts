import * as z from 'zod';
import { withDefault } from './fields.ts';
import { limits } from './limits.ts';

/** MIME types besides `text/*` (specification, section 8). */
export const contentTypes = [
  'application/pdf',
  'application/msword',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  'image/jpeg',
  'image/png',
  'image/gif',
  'image/webp',
] as const;

/** Extensions that are taken, each with the type of a part that tells none (specification, section 8). */
export const typeOfExtension: Readonly<Record<string, string>> = {
  '.pdf': 'application/pdf',
  '.txt': 'text/plain',
  '.md': 'text/markdown',
  '.csv': 'text/csv',
  '.docx': 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  '.doc': 'application/msword',
  '.pptx': 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.png': 'image/png',
  '.gif': 'image/gif',
  '.webp': 'image/webp',
  '.html': 'text/html',
};

const textType = /^text\/[!#$%&'*+.^_`|~0-9a-z-]+$/;

/** Whether a type without its parameters, in lower case, is taken. */
export const isTextType = (type: string): boolean => textType.test(type) && type !== 'text/*';
export const isAcceptedType = (type: string): boolean =>
  isTextType(type) || (contentTypes as readonly string[]).includes(type);

export const uploadScope = z.enum(['persistent', 'ephemeral']);
export type UploadScope = z.infer<typeof uploadScope>;

/** What the part `data` holds. */
export const uploadData = z.object({ scope: withDefault(uploadScope, 'persistent') });

/** Exact texts (specification, section 7.3). */
export const uploadFailures = {
  nameMissing: 'File name is missing',
  nameTooLong: `File name is too long (max length: ${limits.fileNameCharacters} characters)`,
  extension: (extension: string) => `Unsupported file extension: ${extension}`,
  /** The declared type if it is not taken, else the one that the content has. */
  contentType: (type: string) => `Unsupported content type: ${type}`,
  tooLarge: `File size check failed (max size: ${limits.fileBytes / 1024 / 1024} MB)`,
  empty: 'File is empty (size must be greater than 0 bytes)',
} as const;
