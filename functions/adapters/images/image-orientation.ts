import { chunksOf, viewOf } from './image-chunks.ts';

/**
 * The orientation of an image's Exif data: 1 to 8, as in that standard. 1 is upright, also without Exif data.
 */
export function orientationOf(bytes: Uint8Array, mediaType: string): number {
  const exif = exifOf(bytes, mediaType);
  return exif === undefined ? 1 : orientationIn(viewOf(exif));
}

const exifHeader = 'Exif\0\0';

/** A TIFF structure. Within JPEG, and in some WebP files, a header is before it. */
function exifOf(bytes: Uint8Array, mediaType: string): Uint8Array | undefined {
  for (const { type, content } of chunksOf(bytes, mediaType)) {
    const hasHeader = Buffer.from(content.subarray(0, exifHeader.length)).toString('latin1') === exifHeader;
    if (type === 'eXIf' || type === 'EXIF' || (type === 'APP1' && hasHeader))
      return hasHeader ? content.subarray(exifHeader.length) : content;
  }
  return undefined;
}

const orientationTag = 0x0112;

function orientationIn(tiff: DataView): number {
  try {
    const littleEndian = tiff.getUint16(0) === 0x4949;
    const directory = tiff.getUint32(4, littleEndian);
    const entries = tiff.getUint16(directory, littleEndian);
    for (let index = 0; index < entries; index += 1) {
      const at = directory + 2 + index * 12;
      if (tiff.getUint16(at, littleEndian) !== orientationTag) continue;
      const orientation = tiff.getUint16(at + 8, littleEndian);
      return orientation >= 1 && orientation <= 8 ? orientation : 1;
    }
  } catch (error) {
    // The directory is outside of the data.
    if (!(error instanceof RangeError)) throw error;
  }
  return 1;
}
