import { crc32, createInflate } from 'node:zlib';
import type { ImageInspector } from '#domain/completions/completion.ts';

interface ImageChunk {
  type: string;
  content: Uint8Array;
  whole: Uint8Array;
}

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.length);

/** In chunks of 4 KB, an image of 50 MB has 12,800. */
const mostChunks = 50_000;

/** Of a JPEG, the segments before its pixels. None for types other than PNG, WebP and JPEG. */
export function* chunksOf(bytes: Uint8Array, mediaType: string): Generator<ImageChunk> {
  if (mediaType === 'image/png') yield* pngChunks(bytes);
  if (mediaType === 'image/webp') yield* riffChunks(bytes.subarray(12));
  if (mediaType === 'image/jpeg') yield* jpegSegments(bytes);
}

export function findChunk(chunks: Iterable<ImageChunk>, ...types: string[]): ImageChunk | undefined {
  for (const chunk of chunks) if (types.includes(chunk.type)) return chunk;
  return undefined;
}

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');

function* pngChunks(bytes: Uint8Array): Generator<ImageChunk> {
  const view = viewOf(bytes);
  for (let at = 8, left = mostChunks; left > 0 && at + 12 <= bytes.length; left -= 1) {
    const end = at + 12 + view.getUint32(at);
    if (end > bytes.length) return;
    const type = textOf(bytes.subarray(at + 4, at + 8));
    yield { type, content: bytes.subarray(at + 8, end - 4), whole: bytes.subarray(at, end) };
    at = end;
  }
}

function* riffChunks(bytes: Uint8Array): Generator<ImageChunk> {
  const view = viewOf(bytes);
  for (let at = 0, left = mostChunks; left > 0 && at + 8 <= bytes.length; left -= 1) {
    const length = view.getUint32(at + 4, true);
    // Chunks have an even length in the file.
    const end = at + 8 + length + (length % 2);
    if (at + 8 + length > bytes.length) return;
    const type = textOf(bytes.subarray(at, at + 4));
    yield { type, content: bytes.subarray(at + 8, at + 8 + length), whole: bytes.subarray(at, end) };
    at = end;
  }
}

const segmentNames: Readonly<Record<number, string>> = { 225: 'APP1', 218: 'SOS' };

function* jpegSegments(bytes: Uint8Array): Generator<ImageChunk> {
  const view = viewOf(bytes);
  for (let at = 2, left = mostChunks; left > 0 && at + 4 <= bytes.length && bytes[at] === 0xff; left -= 1) {
    const code = bytes[at + 1] ?? 0;
    const end = at + 2 + view.getUint16(at + 2);
    // The header of a frame has one of the codes 0xc0 to 0xcf, except three that other segments have.
    const isFrame = code >= 0xc0 && code <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(code);
    const type = isFrame ? 'SOF' : (segmentNames[code] ?? 'other');
    if (type === 'SOS' || end > bytes.length || end < at + 4) return;
    yield { type, content: bytes.subarray(at + 4, end), whole: bytes.subarray(at, end) };
    at = end;
  }
}

/** From 1 to 8, as in Exif; 1 (upright) if the image has no valid one. */
export function orientationOf(bytes: Uint8Array, mediaType: string): number {
  const exif = exifOf(bytes, mediaType);
  return exif === undefined ? 1 : orientationIn(viewOf(exif));
}

const exifHeader = 'Exif\0\0';

/** A TIFF structure. In a JPEG, and in some WebP files, a header comes before it. */
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
    // An offset points outside of the data, or the data are cut off.
    if (!(error instanceof RangeError)) throw error;
  }
  return 1;
}

/** Some providers reject animated images. Undefined if the image is not animated, and for some damaged images. */
export const firstFrame = (bytes: Uint8Array, mediaType: string): Uint8Array | undefined =>
  firstFrames[mediaType]?.(bytes);

const firstFrames: Readonly<Record<string, (bytes: Uint8Array) => Uint8Array | undefined>> = {
  'image/gif': firstFrameOfGif,
  'image/png': firstFrameOfPng,
  'image/webp': firstFrameOfWebp,
};

/** Without its animation, a PNG is the image for programs that support none: the first frame or a separate image. */
function firstFrameOfPng(bytes: Uint8Array): Uint8Array | undefined {
  if (findChunk(pngChunks(bytes), 'acTL') === undefined) return undefined;
  // A file may have tens of thousands of chunks, so they are not collected.
  const still = Buffer.alloc(bytes.length);
  still.set(bytes.subarray(0, 8));
  let length = 8;
  for (const { type, whole } of pngChunks(bytes)) {
    if (['acTL', 'fcTL', 'fdAT'].includes(type)) continue;
    still.set(whole, length);
    length += whole.length;
  }
  return still.subarray(0, length);
}

const webpFrameHeader = 16;

function firstFrameOfWebp(bytes: Uint8Array): Uint8Array | undefined {
  const frame = findChunk(chunksOf(bytes, 'image/webp'), 'ANMF')?.content;
  if (frame === undefined) return undefined;
  const chunks = frame.subarray(webpFrameHeader);
  const alpha = findChunk(riffChunks(chunks), 'ALPH');
  const pixels = findChunk(riffChunks(chunks), 'VP8 ', 'VP8L');
  if (pixels === undefined) return undefined;
  // An image with an alpha chunk needs the header of the extended format (VP8X), with the frame's size.
  const extended = [Buffer.from('VP8X\x0a\0\0\0\x10\0\0\0', 'latin1'), frame.subarray(6, 12)];
  const body = Buffer.concat([
    Buffer.from('WEBP'),
    ...(alpha === undefined ? [] : [...extended, alpha.whole]),
    pixels.whole,
  ]);
  const header = Buffer.from('RIFF\0\0\0\0');
  header.writeUInt32LE(body.length, 4);
  return Buffer.concat([header, body]);
}

const extension = 0x21;
const imageDescriptor = 0x2c;
const trailer = 0x3b;

function firstFrameOfGif(bytes: Uint8Array): Uint8Array | undefined {
  let end: number | undefined;
  let at = 13 + colorTableBytes(bytes[10]);
  while (at < bytes.length && bytes[at] !== trailer) {
    if (bytes[at] === imageDescriptor) {
      if (end !== undefined) return Buffer.concat([bytes.subarray(0, end), Buffer.from([trailer])]);
      end = afterPicture(bytes, at);
      at = end;
    } else if (bytes[at] === extension) at = afterBlocks(bytes, at + 2);
    else return undefined;
  }
  return undefined;
}

const colorTableBytes = (flags = 0): number => ((flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 7) + 1));

/** A picture has a descriptor, perhaps a color table, the size of codes, and blocks. */
const afterPicture = (bytes: Uint8Array, at: number): number =>
  afterBlocks(bytes, at + 10 + colorTableBytes(bytes[at + 9]) + 1);

/** Each block starts with its length. An empty block is the last one. */
function afterBlocks(bytes: Uint8Array, start: number): number {
  let at = start;
  while (at < bytes.length && bytes[at] !== 0) at += 1 + (bytes[at] ?? 0);
  return at + 1;
}

interface Size {
  width: number;
  height: number;
}

/**
 * A provider may reject a message with a damaged image.
 * @returns true for a type that is not checked here
 */
export async function isWhole(bytes: Uint8Array, mediaType: string, size: Size): Promise<boolean> {
  const image = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return wholeness[mediaType]?.(image, size) ?? true;
}

const wholeness: Readonly<Record<string, (image: Buffer, size: Size) => boolean | Promise<boolean>>> = {
  'image/png': isWholePng,
  'image/jpeg': isWholeJpeg,
  'image/webp': (image) => image.readUInt32LE(4) + 8 <= image.length,
  'image/gif': isWholeGif,
};

/** May be true of an interlaced image that lacks pixels: together, its passes may have more rows than the image. */
async function isWholePng(image: Buffer, { width, height }: Size): Promise<boolean> {
  const bits = (image[24] ?? 0) * (channels[image[25] ?? 0] ?? 1);
  // Each row starts with a byte that names its filter.
  const leastBytes = height * (1 + Math.ceil((width * bits) / 8));
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
      // Decoders ignore data after the pixels. The factor is for interlaced images, which may have more bytes.
      if (inflated > 2 * leastBytes) break;
    }
  } catch {
    return false;
  }
  return inflated >= leastBytes;
}

/** By the color type of a PNG: gray, RGB, palette, gray with alpha, RGB with alpha. */
const channels: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };

/**
 * The end mark is never part of the pixels. An image of at most 8 by 8 pixels is not checked, because common samples of
 * this size lack the mark.
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

function isWholeGif(image: Buffer): boolean {
  let at = 13 + colorTableBytes(image[10]);
  while (image[at] === extension) at = afterBlocks(image, at + 2);
  return image[at] === imageDescriptor && afterPicture(image, at) <= image.length;
}

const startOfScan = 0xda;
const endOfImage = Buffer.from([0xff, 0xd9]);

/** The library is kept, because a message may have thousands of images. */
let library: Promise<typeof import('image-dimensions')> | undefined;

export const imageInspector: ImageInspector = {
  async inspect(bytes) {
    // HEIC and AVIF are not accepted: few models read them, and the library is slow if a file has many boxes.
    if (Buffer.from(bytes.subarray(4, 8)).toString('latin1') === 'ftyp') return undefined;
    library ??= import('image-dimensions');
    const { imageDimensionsFromData } = await library;
    const found = imageDimensionsFromData(bytes);
    return found && { mediaType: `image/${found.type}`, width: found.width, height: found.height };
  },
};
