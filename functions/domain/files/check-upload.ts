import { limits } from '#contract/limits.ts';
import { isAcceptedType, isTextType, typeOfExtension, uploadFailures } from '#contract/upload.ts';

/** From the last dot on, in lower case; empty for a name without one, or with nothing before it. */
export function extensionOf(name: string): string {
  const dot = name.lastIndexOf('.');
  return dot > 0 ? name.slice(dot).toLowerCase() : '';
}

/** What may stand in a header, as a type does whenever its file is downloaded. */
const headerText = /^[\x20-\x7e]{1,255}$/;

/** A content type without its parameters, in lower case. */
export const essenceOf = (contentType: string): string =>
  (contentType.split(';', 1)[0] ?? '').trim().toLowerCase();

/** What is wrong with a file before its content is looked at: name, extension, type, in this order. */
export function describeWrongFile(name: string, contentType: string): string | undefined {
  if (name === '') return uploadFailures.nameMissing;
  if (name.length > limits.fileNameCharacters && [...name].length > limits.fileNameCharacters)
    return uploadFailures.nameTooLong;
  const extension = extensionOf(name);
  if (!Object.hasOwn(typeOfExtension, extension)) return uploadFailures.extension(extension);
  const essence = essenceOf(contentType);
  if (!isAcceptedType(essence)) return uploadFailures.contentType(essence);
  // The type alone is supported: the error names the parameters too.
  return headerText.test(contentType) ? undefined : uploadFailures.contentType(contentType);
}

/** A part that tells no type, as many HTTP libraries send it, has the type of its extension. */
export const typeFor = (name: string, contentType: string | undefined): string =>
  contentType ?? typeOfExtension[extensionOf(name)] ?? 'text/plain';

/**
 * What is wrong with a content: its beginning is not that of its type. Text is whatever is no known document, image or
 * archive and has no zero byte, but in UTF-16, which says so by its first two bytes.
 * @param detected types that the beginning may have, the likeliest first
 */
export function describeWrongContent(
  contentType: string,
  start: Uint8Array,
  detected: readonly string[],
): string | undefined {
  const essence = essenceOf(contentType);
  if (!isTextType(essence)) {
    if (detected.includes(essence)) return undefined;
    const actual = detected[0] ?? (looksLikeText(start) ? 'text/plain' : unknownBinary);
    return uploadFailures.contentType(actual);
  }
  const known = detected.find(
    (type) => type === 'application/zip' || (!isTextType(type) && isAcceptedType(type)),
  );
  if (known === undefined && looksLikeText(start)) return undefined;
  return uploadFailures.contentType(known ?? detected[0] ?? unknownBinary);
}

const unknownBinary = 'application/octet-stream';

const looksLikeText = (start: Uint8Array): boolean => !start.includes(0) || isUtf16(start);

const isUtf16 = ([first, second]: Uint8Array): boolean =>
  (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
