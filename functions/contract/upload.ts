import * as z from 'zod';
import { uuid, withDefault } from './fields.ts';
import { limits } from './limits.ts';

/** In addition to `text/*` (specification, section 8). */
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

/** Specification, section 8. A part without Content-Type gets the type of its extension. */
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

/** @param type in lower case, without parameters */
export const isTextType = (type: string): boolean => textType.test(type) && type !== 'text/*';
export const isAcceptedType = (type: string): boolean =>
  isTextType(type) || (contentTypes as readonly string[]).includes(type);

export const uploadScope = z.enum(['persistent', 'ephemeral']);
export type UploadScope = z.infer<typeof uploadScope>;

export const uploadData = z
  .object({ scope: withDefault(uploadScope, 'persistent') })
  .meta({ id: 'UploadData' });

export const deletedFile = z.object({ uuid, deleted: z.boolean() }).meta({ id: 'DeletedFile' });
export type DeletedFileResource = z.infer<typeof deletedFile>;

/** Specification, section 7.3. `nameTooLong`, `nameCharacter` and `tooSlow` are additions. */
export const uploadFailures = {
  nameMissing: 'File name is missing',
  nameTooLong: `File name is too long (max length: ${limits.fileNameCharacters} characters)`,
  /** By its code point, because the character can change how the message is shown. */
  nameCharacter: (character: string) =>
    `File name has a character that is not allowed: U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`,
  extension: (extension: string) => `Unsupported file extension: ${extension}`,
  contentType: (type: string) => `Unsupported content type: ${type}`,
  tooLarge: `File size check failed (max size: ${limits.fileBytes / 1024 / 1024} MB)`,
  tooSlow: `The body comes too slowly (min speed: ${limits.uploadBytesPerMinute / 1024} KB a minute)`,
  empty: 'File is empty (size must be greater than 0 bytes)',
} as const;

/** Additions to the specification. */
export const uploadHints = {
  extensions: `These extensions are allowed: ${Object.keys(typeOfExtension).join(', ')}`,
  typeOf: (extension: string) =>
    `The file name ends with ${extension}: send the content type ${typeOfExtension[extension]}`,
  content: (found: string, declared: string) =>
    `The content looks like ${found}, and the content type is ${declared}`,
  /** For content whose type fits the extension, but not the declared type. */
  contentOfExtension: (found: string, extension: string) =>
    `The content looks like ${found}, and the file name ends with ${extension}: send the content type ${found}`,
} as const;
