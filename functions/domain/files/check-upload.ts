import { controlCharacters } from '#contract/describe-issues.ts';
import { limits } from '#contract/limits.ts';
import {
  isAcceptedType,
  isTextType,
  typeOfExtension,
  uploadFailures,
  uploadHints,
} from '#contract/upload.ts';
import { essenceOf } from './files.ts';

/** Enough to find binary data after some leading text. */
export const bytesToDetect = 4096;

export interface UploadRejection {
  readonly message: string;
  readonly hint?: string;
}

function extensionOf(name: string): string {
  const dot = name.lastIndexOf('.');
  return dot > 0 ? name.slice(dot).toLowerCase() : '';
}

/** A file's content type becomes a header of its downloads. */
const headerText = /^[\x20-\x7e]{1,255}$/;

export function describeWrongFile(name: string, contentType: string): UploadRejection | undefined {
  if (name === '') return { message: uploadFailures.nameMissing };
  if (name.length > limits.fileNameCharacters && [...name].length > limits.fileNameCharacters)
    return { message: uploadFailures.nameTooLong };
  const control = name.match(controlCharacters)?.[0];
  if (control !== undefined) return { message: uploadFailures.nameCharacter(control) };
  const extension = extensionOf(name);
  if (!Object.hasOwn(typeOfExtension, extension))
    return { message: uploadFailures.extension(extension), hint: uploadHints.extensions };
  const essence = essenceOf(contentType);
  const isAccepted = isAcceptedType(essence);
  if (isAccepted && headerText.test(contentType)) return undefined;
  const message = uploadFailures.contentType(isAccepted ? contentType : essence);
  return { message, hint: uploadHints.typeOf(extension) };
}

/** Many HTTP libraries send parts without a type. */
export const typeFor = (name: string, contentType: string | undefined): string =>
  contentType ?? typeOfExtension[extensionOf(name)] ?? 'text/plain';

/**
 * For a text type, `detected` must have no accepted document or image and no ZIP archive. Only what looks like UTF-16
 * may have zero bytes.
 */
export function describeWrongContent(
  { name, contentType }: { readonly name: string; readonly contentType: string },
  start: Uint8Array,
  detected: readonly string[],
): UploadRejection | undefined {
  const essence = essenceOf(contentType);
  const found = wrongTypeOf(essence, start, detected);
  if (found === undefined) return undefined;
  const extension = extensionOf(name);
  const hint =
    found === typeOfExtension[extension]
      ? uploadHints.contentOfExtension(found, extension)
      : uploadHints.content(found, essence);
  return { message: uploadFailures.contentType(found), hint };
}

function wrongTypeOf(essence: string, start: Uint8Array, detected: readonly string[]): string | undefined {
  if (!isTextType(essence)) {
    if (detected.includes(essence) || (essence === 'application/pdf' && hasPdfHeader(start)))
      return undefined;
    return detected[0] ?? (isText(start) ? 'text/plain' : unknownBinary);
  }
  const known = detected.find(
    (type) => type === 'application/zip' || (!isTextType(type) && isAcceptedType(type)),
  );
  if (known === undefined && isText(start)) return undefined;
  return known ?? detected[0] ?? unknownBinary;
}

/** Like other readers, accepts up to 1,024 bytes before the header, such as the rest of an HTTP or mail header. */
const hasPdfHeader = (start: Uint8Array): boolean =>
  Buffer.from(start.subarray(0, 1024 + '%PDF-'.length)).includes('%PDF-');

const unknownBinary = 'application/octet-stream';

const isText = (start: Uint8Array): boolean => !start.includes(0) || isUtf16(start);

/** Text in UTF-16 is known by a byte order mark, or by its zero bytes: a letter of ASCII has one. */
function isUtf16(start: Uint8Array): boolean {
  const [first, second] = start;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) return true;
  const zeros = [0, 0];
  for (const [at, byte] of start.entries()) if (byte === 0) zeros[at % 2] = (zeros[at % 2] ?? 0) + 1;
  return start.length % 2 === 0 && Math.min(...zeros) === 0 && Math.max(...zeros) >= start.length / 10;
}
