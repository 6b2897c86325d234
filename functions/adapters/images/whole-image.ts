import { crc32, createInflate } from 'node:zlib';
import { afterBlocks, colorTableBytes, extension, imageDescriptor } from './first-frame.ts';

interface Size {
  width: number;
  height: number;
}

/**
 * Reads an image to its end. A provider rejects a message with an image that is cut off or damaged.
 * @returns true also for the other types
 */
export async function isWhole(bytes: Uint8Array, mediaType: string, size: Size): Promise<boolean> {
  const image = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  switch (mediaType) {
    case 'image/png':
      return isWholePng(image, size);
    case 'image/jpeg':
      return isWholeJpeg(image, size);
    case 'image/webp':
      return image.readUInt32LE(4) + 8 <= image.length;
    case 'image/gif':
      return isWholeGif(image);
    default:
      return true;
  }
}

/** Inflates the pixels, without storing them. Their chunks must have their checksums, and all pixels of the header. */
async function isWholePng(image: Buffer, { width, height }: Size): Promise<boolean> {
  const bits = (image[24] ?? 0) * (channels[image[25] ?? 0] ?? 1);
  const pixelBytes = Math.ceil((width * height * bits) / 8);
  const compressed: Buffer[] = [];
  for (let at = 8; at + 12 <= image.length; ) {
    const end = at + 12 + image.readUInt32BE(at);
    if (end > image.length) break;
    const type = image.toString('latin1', at + 4, at + 8);
    if (type === 'IDAT') {
      if (crc32(image.subarray(at + 4, end - 4)) !== image.readUInt32BE(end - 4)) return false;
      compressed.push(image.subarray(at + 8, end - 4));
    }
    at = end;
  }
  let inflated = 0;
  try {
    for await (const chunk of createInflate().end(Buffer.concat(compressed))) {
      inflated += chunk.length;
      // Decoders ignore what comes after the pixels. With a byte for each row, these have at most twice as many.
      if (inflated > 2 * pixelBytes + height) break;
    }
  } catch {
    return false;
  }
  return inflated >= pixelBytes;
}

/** By the color type of a PNG: gray, RGB, palette, and the first two with transparency. */
const channels: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };

/**
 * Looks for the end mark, which no pixels contain: a decoder fills what is missing with gray. A single block of pixels
 * may lack it, as in common samples.
 */
function isWholeJpeg(image: Buffer, { width, height }: Size): boolean {
  if (Math.max(width, height) <= 8) return true;
  for (let at = 2; at + 4 <= image.length && image[at] === 0xff; ) {
    const marker = image[at + 1];
    if (marker === startOfScan) return image.includes(endOfImage, at);
    at += marker === 0xff ? 1 : 2 + image.readUInt16BE(at + 2);
  }
  return false;
}

/** The first picture must have its last block. */
function isWholeGif(image: Buffer): boolean {
  let at = 13 + colorTableBytes(image[10]);
  while (image[at] === extension) at = afterBlocks(image, at + 2);
  // The descriptor, its color table, and the size of codes.
  return (
    image[at] === imageDescriptor &&
    afterBlocks(image, at + 10 + colorTableBytes(image[at + 9]) + 1) <= image.length
  );
}

const startOfScan = 0xda;
const endOfImage = Buffer.from([0xff, 0xd9]);
