import { controlCharacters } from '#contract/describe-issues.ts';
import { limits } from '#contract/limits.ts';
import {
  isAcceptedType,
  isTextType,
  typeOfExtension,
  uploadFailures,
  uploadHints,
} from '#contract/upload.ts';

/** Number of bytes that are checked at the start of a file: enough to find binary data after some leading text. */
export const bytesToDetect = 4096;

export interface ContentDetector {
  /**
   * The types that a file with these first bytes may have, the most likely one first. Empty if the bytes are of no
   * known type.
   */
  detect(start: Uint8Array): string[];
}

/** Why a file is rejected, and what the client may do about it. */
export interface UploadRejection {
  readonly message: string;
  readonly hint?: string;
}

/** The extension with its dot, in lower case. Empty if the name has no dot, or its only dot is the first character. */
function extensionOf(name: string): string {
  const dot = name.lastIndexOf('.');
  return dot > 0 ? name.slice(dot).toLowerCase() : '';
}

/** A file's content type becomes a header of its downloads, so it must be a valid value of a header. */
const headerText = /^[\x20-\x7e]{1,255}$/;

/** A content type without its parameters, in lower case. */
const essenceOf = (contentType: string): string => (contentType.split(';', 1)[0] ?? '').trim().toLowerCase();

/** The first problem of a file's name, extension or content type, in this order. Undefined if there is none. */
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
  // If the type is accepted without its parameters, the error names the parameters too.
  const message = uploadFailures.contentType(isAccepted ? contentType : essence);
  return { message, hint: uploadHints.typeOf(extension) };
}

/**
 * The content type of a part. Many HTTP libraries send parts without a type: then the extension determines the type.
 */
export const typeFor = (name: string, contentType: string | undefined): string =>
  contentType ?? typeOfExtension[extensionOf(name)] ?? 'text/plain';

/**
 * Checks a file's first bytes against its content type. Content counts as text if it is no accepted document or image
 * and no ZIP archive, and has no zero byte. UTF-16 may have zero bytes.
 * @param detected types that these bytes may have, the most likely one first
 * @returns the problem; undefined if there is none
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

/** The type of the content, if it cannot be the declared type; otherwise undefined. */
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

/**
 * Whether the header of a PDF comes within the first bytes. Like other readers, accepts up to 1,024 bytes before it,
 * such as the rest of an HTTP or mail header.
 */
const hasPdfHeader = (start: Uint8Array): boolean =>
  Buffer.from(start.subarray(0, 1024 + '%PDF-'.length)).includes('%PDF-');

const unknownBinary = 'application/octet-stream';

const isText = (start: Uint8Array): boolean => !start.includes(0) || isUtf16(start);

/**
 * Whether the bytes may be text in UTF-16. Such text has a byte order mark, or it has an even number of bytes, with
 * zero bytes among them. These are at least a tenth of the bytes, and all at even or all at odd positions.
 */
function isUtf16(start: Uint8Array): boolean {
  const [first, second] = start;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) return true;
  const zeros = [0, 0];
  for (const [at, byte] of start.entries()) if (byte === 0) zeros[at % 2] = (zeros[at % 2] ?? 0) + 1;
  return start.length % 2 === 0 && Math.min(...zeros) === 0 && Math.max(...zeros) >= start.length / 10;
}
